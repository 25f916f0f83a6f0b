"""Activation patching on a page: vectors of one sentence put into the run of another, cell by cell."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st

import headlight.plots as plots
from headlight.app import bar, results
from headlight.app.choices import from_list, line, one_of, slider_over
from headlight.app.errors import error_text
from headlight.app.finding import Finding, Templates
from headlight.app.results import CheckpointFiles, TranslationRequest
from headlight.app.widgets import (
    one_line,
    phone_container,
    plain,
    show_figure,
    show_finding,
    show_table,
    show_tokens,
    show_warnings,
)
from headlight.plots.names import kind_head_name, kind_words
from headlight.plots.numbers import format_probability
from headlight.plots.tokens import quoted_at, shown_token, shown_tokens
from transformer import Greedy, UserError
from transformer.interpret.activations import Predictions
from transformer.interpret.trace import Trace
from transformer.interpret.what_if.patching import (
    PAIRS_FILE,
    PATCHED,
    Cell,
    MinimalPair,
    PatchingMap,
    Question,
    Site,
    patched_predictions,
    patching_map,
    question_of,
    read_minimal_pairs,
    sentences_like,
)
from transformer.model.heads import Head
from transformer.model.names import AttentionKind

TEMPLATES = Templates.beside(__file__)
HALF = 0.5  # a share: from which a cell restores most
_SHOWN = 0.005  # of a share: whole percents do not show less
_SMALL = 1.0  # logit difference between the runs
OWN = "your own"
MOST_TRIED = 16  # second sentences
CANDIDATES = 4  # of each run, beside a map


def show(request: TranslationRequest) -> None:
    """Show two sentences, the patching map, and the three runs of one of its cells. Raises UserError."""
    is_greedy = isinstance(request.strategy, Greedy)
    request = replace(request, strategy=Greedy(), prefix=(), rank=1)
    pairs = {pair.name: pair for pair in minimal_pairs(request.checkpoint)}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        name = one_of((*pairs, OWN), "minimal_pair") if pairs else OWN
        patched = from_list(list(PATCHED), "patched")
    if name == OWN:
        sentences = _own_sentences(request, has_pairs=bool(pairs))
    else:
        bar.hide_sentence()
        clean, corrupted = pairs[name].sentences
        sentences = replace(request, text=clean), replace(request, text=corrupted)
    if not is_greedy:
        st.caption(TEMPLATES.text("greedy"))
    try:
        both = results.trace(sentences[0]), results.trace(sentences[1])
        _show_sentences(sentences, both)
        tokenizer = results.translator(request.checkpoint).tokenizer
        question = question_of(*both) if name == OWN else pairs[name].question(tokenizer)
    except UserError as error:
        st.warning(plain(TEMPLATES.text("impossible", error=error_text(error))), icon=":material/edit:")
        return
    _show_map(request, question, patched)


def _own_sentences(request: TranslationRequest, *, has_pairs: bool) -> tuple[TranslationRequest, TranslationRequest]:
    """Return the reader's own; where one is not written, the bar's, and one that is made from it."""
    if not has_pairs:
        st.caption(TEMPLATES.text("no_pairs"))
    left, right = st.columns(2)
    with left:
        clean = replace(request, text=line("clean", placeholder=request.text).strip() or request.text)
    other = second_sentence(clean)
    with right:
        written = line("corrupted", placeholder=other or clean.text)
    return clean, replace(request, text=written.strip() or other or clean.text)


@results.cached(max_entries=8, show_spinner=False)
def minimal_pairs(checkpoint: CheckpointFiles) -> tuple[MinimalPair, ...]:
    """Return the minimal pairs that come with a checkpoint; none where there are none, or none that can be read."""
    return results.load_optional(checkpoint, PAIRS_FILE, lambda path: read_minimal_pairs(path.parent)) or ()


@results.cached(max_entries=32, show_spinner=TEMPLATES.notice("looking"))
def second_sentence(request: TranslationRequest) -> str:
    """Return the text with two words exchanged or one repeated, so that it has as many tokens and another translation.

    "" where the first that are tried do not.
    """
    loaded, first = results.translator(request.checkpoint), results.trace(request)
    sources = {text: results.source(replace(request, text=text)) for text in sentences_like(request.text)[:MOST_TRIED]}
    count = len(loaded.pieces(first.source_text))
    fitting = {text: source for text, source in sources.items() if len(loaded.pieces(source)) == count}
    translations = loaded.best_ids(list(fitting.values())) if fitting else []
    return next((text for text, ids in zip(fitting, translations, strict=True) if ids != first.target_ids), "")


@results.cached(max_entries=64, show_spinner=TEMPLATES.notice("patching"))
def patching_of(checkpoint: CheckpointFiles, question: Question, site: str, part: str) -> PatchingMap:
    """Return the share of the difference between two sentences that each cell of a site restores."""
    return patching_map(results.translator(checkpoint).model, question, site, part)


@results.cached(max_entries=64, show_spinner=False)
def _patched(checkpoint: CheckpointFiles, question: Question, cell: Cell) -> Predictions:
    """Return the predictions of the clean, the corrupted, and the run patched in one cell: [3]."""
    return patched_predictions(results.translator(checkpoint).model, question, [cell], CANDIDATES)


def _show_sentences(sentences: tuple[TranslationRequest, TranslationRequest], both: tuple[Trace, Trace]) -> None:
    """Show both sentences with their translations, and token by token where these are not equally many."""
    names = ("clean", "corrupted")
    for column, name, trace, request in zip(st.columns(2), names, both, sentences, strict=True):
        with column:
            text, translation = plain(" ".join(request.text.split())), one_line(trace.target_text)
            st.markdown(TEMPLATES.text(f"sentence_{name}", text=text, translation=translation))
            show_warnings(request)
    if len(both[0].source_ids) != len(both[1].source_ids):
        for name, trace in zip(names, both, strict=True):
            st.markdown(TEMPLATES.text(f"tokens_{name}", tokens=len(trace.source_ids)))
            show_tokens(trace.source_tokens, trace.source_ids, TEMPLATES.text(f"alt_{name}"))


def _show_map(request: TranslationRequest, question: Question, patched: str) -> None:
    """Show the map on the left, on the right one of its cells with the three runs."""
    tokenizer = results.translator(request.checkpoint).tokenizer
    site, part = PATCHED[patched]
    meaning, look_for = TEMPLATES.text(patched), TEMPLATES.text(f"look for: {patched}")
    patching = patching_of(request.checkpoint, question, site, part)
    rows, columns = patching.row_names(), patching.column_names(question, tokenizer)
    tokens = tuple(map(tokenizer.piece_text, question.tokens))
    start = patching.default_cell()
    left, right = st.columns([13, 8], gap="medium")
    with right:
        fed = tuple(map(tokenizer.piece_text, question.fed))
        st.markdown(plain(TEMPLATES.text("question", fed=fed, one=tokens[0], other=tokens[1])))
        with st.container(horizontal=True, gap="medium"):
            row = slider_over(rows, "patched_row", start[0], width=150)
            label = TEMPLATES.text("head") if site == Site.HEAD else ""
            column = slider_over(shown_tokens(columns), "patched_column", start[1], width=190, label=label)
        _show_runs(request, patching, question, row, column, columns)
    with left:
        with phone_container(len(columns), "patching_map"):
            figure = plots.patching(patching, columns, (row, column), theme="page")
            finding = describe_map(patching, columns)
            show_figure(figure, "patching", TEMPLATES.text("alt", meaning=meaning), str(finding))
        about = TEMPLATES("about", meaning=meaning, look_for=look_for)
        show_finding(finding.followed_by(about), TEMPLATES.text("attempt"))


def _show_runs(
    request: TranslationRequest, patching: PatchingMap, question: Question, row: int, column: int, columns: list[str]
) -> None:
    """Show the most probable next tokens of the clean, the corrupted and the patched run."""
    name = results.translator(request.checkpoint).tokenizer.piece_text
    seen = _patched(request.checkpoint, question, patching.cells[row][column])
    header = [TEMPLATES.text("top", number=number + 1) for number in range(seen.best_ids.shape[1])]
    table, shades = candidate_rows(seen, name), seen.best_probabilities.tolist()
    show_table(TEMPLATES.text("alt_runs"), TEMPLATES.text("run"), header, table, shades=shades)
    st.caption(plain(str(describe_cell(patching, row, column, columns, seen, name))))


@dataclass(frozen=True)
class CellName:
    """Name of a cell: "the encoder's vector at “▁dog | ▁dogs” after layer 2", "cross-attention layer 3, head 4"."""

    cell: Cell
    columns: Sequence[str]

    def __str__(self) -> str:
        cell = self.cell
        if cell.site == Site.HEAD:
            return kind_head_name(Head(AttentionKind(cell.part), cell.layer, cell.index))
        at = quoted_at(self.columns, cell.index, "token")
        if cell.site == Site.ATTENTION:
            return TEMPLATES.text("attention_at", kind=kind_words(cell.part), layer=cell.layer + 1, token=at)
        name = "vector_after" if cell.layer else "vector_before"
        return TEMPLATES.text(name, part=cell.part, token=at, layer=cell.layer)


def describe_map(patching: PatchingMap, columns: Sequence[str]) -> Finding:
    """Return the nearest cell to the clean run, which the figure marks, the count past half of the way, and caveats.

    The way is that of the logit difference, from the corrupted run's to the clean run's. Of a residual stream the
    embeddings do not count: the only word that differs restores all there, whatever the model.
    """
    if np.isnan(patching.shares).any():
        return TEMPLATES("nothing")
    first, (row, column) = patching.first_row, patching.default_cell()
    cells, shares = patching.cells, patching.shares[first:]
    nearest, farthest = float(patching.shares[row, column]), float(shares.max())
    name = "overshoots" if nearest >= 1 + _SHOWN else "repairs"
    if nearest < _SHOWN or nearest > 2 - _SHOWN:
        name = "none_nearer"
    what = TEMPLATES.text("one_head" if cells[0][0].site == Site.HEAD else "one_vector")
    counted = {"most": int((shares > HALF).sum()), "cells": shares.size, "aside": TEMPLATES("aside") if first else ""}
    gap = abs(patching.clean - patching.corrupted)
    return TEMPLATES(name, what=what, nearest=_share(nearest)).followed_by(
        TEMPLATES("nearest", cell=CellName(cells[row][column], columns), **counted),
        TEMPLATES("farthest", farthest=_share(farthest)) if farthest > max(nearest, 1 + _SHOWN) else None,
        TEMPLATES("apart", apart=gap) if gap < _SMALL else None,
    )


def describe_cell(
    patching: PatchingMap, row: int, column: int, columns: Sequence[str], seen: Predictions, name: Callable[[int], str]
) -> Finding:
    """Return the best token and the logit difference of the corrupted run with the clean vector of one cell."""
    share, (clean, corrupted, patched) = float(patching.shares[row, column]), seen.best_ids[:, 0].tolist()
    names = {(True, True): "both", (True, False): "clean", (False, True): "corrupted", (False, False): "neither"}
    finding = TEMPLATES(
        "patched",
        cell=CellName(patching.cells[row][column], columns),
        best=name(patched),
        chance=float(seen.best_probabilities[2, 0]),
        as_in=TEMPLATES(names[clean == patched, corrupted == patched]),
    )
    if np.isnan(share):
        return finding
    return finding.followed_by(
        TEMPLATES(
            "difference",
            difference=patching.corrupted + share * (patching.clean - patching.corrupted),
            share=_share(share),
            corrupted=patching.corrupted,
            clean=patching.clean,
            past=TEMPLATES("past") if share >= 1 + _SHOWN else TEMPLATES("away") if share <= -_SHOWN else "",
        )
    )


def _share(share: float) -> Finding:
    return TEMPLATES("share", percent=100 * share)


def _candidate(token: str, chance: float) -> str:
    return f"{shown_token(token)}\n{format_probability(chance)}"


def candidate_rows(seen: Predictions, name: Callable[[int], str]) -> list[tuple[str, list[str]]]:
    """Return for each of the three runs its name, and its best tokens, each over its probability."""
    names = ("clean", "corrupted", "patched")
    runs = zip(names, seen.best_ids.tolist(), seen.best_probabilities.tolist(), strict=True)
    return [
        (
            TEMPLATES.text(f"run_{run}"),
            [_candidate(name(best), chance) for best, chance in zip(ids, chances, strict=True)],
        )
        for run, ids, chances in runs
    ]
