"""Two runs compared: another sentence, another checkpoint, or some heads off; two maps and their difference."""

from dataclasses import replace

import numpy as np
import streamlit as st

from headlight.app import results, url_state
from headlight.app.bar import usual_task
from headlight.app.choices import from_list, one_of, write_line
from headlight.app.head_choice import Head, choose_head
from headlight.app.results import CheckpointFiles, TranslationRequest, what_if
from headlight.app.widgets import (
    Panel,
    one_line,
    plain,
    show_attempt,
    show_figure,
    show_finding,
    show_panels,
    show_translation,
)
from headlight.plots.heatmap import attention_map_figure
from headlight.plots.text import KIND_NAMES, LEAST_SHOWN, Finding, format_distinct, one_head_name, quoted
from headlight.plots.what_if import difference_figure, head_differences_figure
from transformer import UserError
from transformer.interpret.trace import Trace, attention_map, row_and_column_labels
from transformer.interpret.what_if.difference import MapDifference, subtract
from transformer.interpret.what_if.intervention import Zero
from transformer.model.names import Name

from .ablation import heads_in, heads_text, heads_words, importance_is_there

NOTICED = 0.05  # of a row's weight


_SIDE = 350  # pixels of a map
_BESIDE_THE_DEFAULT = "I love my teachers."


class With(Name):
    """What the translation is compared with."""

    SENTENCE = "another sentence"
    CHECKPOINT = "another checkpoint"
    ABLATED = "heads off"


def show(request: TranslationRequest) -> None:
    """Show one head's map in both runs, their difference, and how much each head differs. Raises UserError."""
    first = results.trace(request)
    compared = st.container(horizontal=True, vertical_alignment="center", gap="medium", key="compared_runs")
    with compared:
        against = With(one_of("Compare with", tuple(With), "compare", visibility="collapsed"))
    if against is With.ABLATED and not importance_is_there(request, Zero.name):
        return
    with compared:
        second, named = _second(request, against)
    left, right = st.columns(2)
    with left:
        show_translation(request)
    with right:
        st.markdown(f"{plain(named)}: **{one_line(second.target_text)}**")
    differences = {kind: subtract(first, second, kind) for kind in KIND_NAMES}
    shapes = {kind: each.values.shape[:2] for kind, each in differences.items()}
    with st.container(horizontal=True, gap="medium"):
        head = choose_head(shapes, lambda kind: differences[kind].ranked()[0][:2], "cross")
    difference = differences[head.kind]
    see = describe_difference(difference, head.layer or 0, head.head or 0, first, second)  # averages are not offered
    _show_maps(first, second, difference, head, str(see))
    show_finding(see)
    left, right = st.columns([2, 3], gap="medium")
    with left:
        st.markdown(f"**How much each head differs: {KIND_NAMES[head.kind]}**")
        alt = "Heatmap of layers and heads: half the sum of a row's absolute differences, mean over rows"
        show_figure(head_differences_figure(difference), "distances", alt)
    with right:
        st.caption(matching_words(difference))
        show_attempt(
            "Change one word of the sentence: which heads notice, those that read the word or those that carry what "
            "follows from it? And compare with heads off: which heads of later layers make up for them?"
        )


def _second(request: TranslationRequest, against: With) -> tuple[Trace, str]:
    """Return the other run, and what it is called."""
    match against:
        case With.SENTENCE:
            text = write_line("The other sentence", "compare_text", _first_sentence(request), repr(request))
            other = replace(request, text=text, prefix=(), rank=1)
            try:
                return results.trace(other), "The other sentence"
            except UserError as error:
                raise UserError(f"The other sentence cannot be used. {error}") from error
        case With.CHECKPOINT:
            names = [name for name in results.checkpoint_names() if name != request.checkpoint.name]
            if not names:
                raise UserError("There is no other checkpoint to compare with.")
            name = from_list("The other checkpoint", names, "compare_checkpoint", visibility="collapsed")
            return results.trace(told_its_own(request, results.checkpoint(name))), name
    importance = what_if.importance(request, Zero.name)
    off = heads_in(url_state.read("off", heads_text([importance.default_head()])), importance)
    return what_if.changed_trace(request, tuple(map(Zero.of, off))), f"Without {heads_words(off)}"


def _first_sentence(request: TranslationRequest) -> str:
    """Return the other sentence to begin with: one that is made from the reader's own."""
    if request.text == url_state.default_of("text"):
        return _BESIDE_THE_DEFAULT
    return what_if.second_sentence(replace(request, prefix=(), rank=1)) or request.text


def told_its_own(request: TranslationRequest, other: CheckpointFiles) -> TranslationRequest:
    """Return the request for another model, with its own languages where it lacks the chosen ones, from the beginning.

    What is put before the text stays where that model knows it, or where none was chosen among some.
    """
    translator, asked = results.translator(other), results.translator(request.checkpoint).checkpoint
    tokenizer, tasks = translator.tokenizer, translator.checkpoint.prefixes.values()
    known = tokenizer.source_languages, tokenizer.languages
    wished = zip((request.source_language, request.language), tokenizer.default_languages, strict=True)
    read, written = (
        next((one for one in (*wish, *offered) if one in offered), "")
        for wish, offered in zip(wished, known, strict=True)
    )
    stays = request.task in tasks or (asked.prefixes and not request.task)
    task = request.task if stays else usual_task(translator.checkpoint)
    return replace(request, checkpoint=other, source_language=read, language=written, task=task, prefix=(), rank=1)


def _show_maps(first: Trace, second: Trace, difference: MapDifference, head: Head, see: str) -> None:
    maps = [attention_map(trace, *head, "fed") for trace in (first, second)]
    show_panels(
        f"attention weights of {KIND_NAMES[head.kind]}",
        *(
            Panel(f"{name} run", attention_map_figure(shown, _SIDE), columns=len(shown.keys), key=f"{name.lower()}_map")
            for name, shown in zip(("First", "Second"), maps, strict=True)
        ),
        Panel(
            "Second minus first",
            difference_figure(difference, maps[0], maps[1], _SIDE),
            columns=len(difference.columns),
            key="difference_map",
        ),
        see=see,
    )


def describe_difference(difference: MapDifference, layer: int, head: int, first: Trace, second: Trace) -> Finding:
    """Say how much one head differs and where most, and which of all heads of its kind does most."""
    values, distances = difference.values[layer, head], difference.distances()
    name, count = f"{KIND_NAMES[difference.kind]} {one_head_name(layer, head)}", distances.size
    if np.abs(difference.values).max() < LEAST_SHOWN:
        return Finding(f"None of the {count} heads of this kind differs between both runs.")
    most, other, distance = difference.ranked()[0]
    ranking = f"Of the {count} heads of this kind {one_head_name(most, other)} differs most, by {_by(distance)}; by "
    ranking += f"less than {NOTICED}: {(distances < NOTICED).sum()}."
    if np.abs(values).max() < LEAST_SHOWN:
        return Finding(f"{name} does not differ between runs.", ranking)
    row, column = np.unravel_index(np.abs(values).argmax(), values.shape)
    weights, reads, keys = [], [], []
    for trace, at, key in zip((first, second), difference.rows[row], difference.columns[column], strict=True):
        weights.append(float(trace.attention(difference.kind)[layer, head, at, key]))
        rows, _, columns = row_and_column_labels(
            difference.kind, trace.source_tokens, trace.decoder_input_tokens, trace.target_tokens
        )
        reads.append(rows[at])
        keys.append(columns[key])
    return Finding(
        f"{name} differs by {_by(distances[layer, head])} between runs.",
        f"Most in the row that reads {_both(*reads)}, on {_both(*keys)}: {' and '.join(format_distinct(*weights))}. "
        f"{ranking}",
    )


def _by(distance: float) -> str:
    """Write a distance with two digits, or more where it is not 0 and they would be."""
    return format_distinct(float(distance), 0.0)[0]


def _both(first: str, second: str) -> str:
    return quoted(first) if first == second else f"{quoted(first)} in the first run, {quoted(second)} in the second"


def matching_words(difference: MapDifference) -> str:
    """Say what a head's difference is, and how rows and columns of both maps found each other."""
    return (
        "By how much a head differs: half the sum of a row's absolute differences, in the mean of its rows. Rows and "
        "columns are matched by position where both runs have as many, whatever the tokens, else by token in the same "
        f"order, the others left out. Here: {len(difference.rows)} rows by {difference.rows_by}, "
        f"{len(difference.columns)} columns by {difference.columns_by}."
    )
