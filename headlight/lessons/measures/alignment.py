"""Measures of which heads align words, by the token that a row writes and by the token that it is fed."""

from collections.abc import Sequence

import numpy as np

from headlight.app import results
from headlight.app.results import measures
from headlight.lessons.answer import Answer, Kind, Option, Run, Undecided, measure, of_the_page
from headlight.plots.names import one_head_name, sentence_case
from headlight.plots.numbers import percent
from headlight.plots.tokens import quoted
from transformer.interpret.head_patterns import HeadMeasures, Pattern, aligned_keys, is_word, measure_heads
from transformer.interpret.trace import Trace, masked_maps
from transformer.model.head_ref import HeadRef

from .wording import MOST_OPTIONS, NEAR, head_in, head_names, quoted_all, readable, token_options

PLAINLY = 0.2  # of the rows, by which one reading must be better where a head is searched for
LEAD = 2  # rows by which one head must be ahead of another, to be seen
OUTPUT, INPUT = Pattern.OUTPUT_ALIGNMENT, Pattern.INPUT_ALIGNMENT


def cross_heads(trace: Trace) -> list[HeadMeasures]:
    """Measure all heads of cross-attention; Undecided where too few rows can tell what a head aligns."""
    measured = measure_heads("cross", masked_maps(trace, "cross"), trace.source_tokens, trace.target_tokens)
    if not all(np.isfinite(float(measured[0].counts[pattern])) for pattern in (OUTPUT, INPUT)):
        raise Undecided("This sentence has too few words, or the model too few heads, to tell which of them aligns.")
    return measured


def ranked_by(measured: Sequence[HeadMeasures], pattern: Pattern) -> list[HeadMeasures]:
    """Return heads by their share of rows of a pattern, the largest first."""
    return sorted(measured, key=lambda head: -float(np.nan_to_num(head.shares[pattern])))


def plainly_behind(best: HeadMeasures, others: Sequence[HeadMeasures], pattern: Pattern) -> list[HeadMeasures]:
    """Return the heads that follow a pattern in so many rows less than the best one that it is seen."""
    least = max(LEAD, NEAR * best.counts[pattern].eligible)
    return [head for head in others if best.counts[pattern].rows - head.counts[pattern].rows >= least]


def name_of(head: HeadMeasures) -> str:
    """Return a head's name: "layer 3, head 5"."""
    return one_head_name(head.layer, head.head)


def in_rows(head: HeadMeasures, pattern: Pattern) -> str:
    """Return in how many rows a head follows a pattern: "in 6 of 9 rows"."""
    count = head.counts[pattern]
    return f"in {count.rows} of {count.eligible} rows"


def names_of(head: HeadMeasures) -> dict[str, str]:
    """Return what texts and addresses call a head: layer and head (from 1), head_name."""
    return head_names(head.layer, head.head)


def key_of(head: HeadMeasures) -> str:
    """Return the key of a head among the options: "3.5"."""
    return f"{head.layer + 1}.{head.head + 1}"


def needed_keys(run: Run) -> np.ndarray:
    """Find for each output token the source word without which its log P falls most: [outputs], -1 for what is no word.

    A second opinion on which source word belongs to an output word: it looks at no weight.
    """
    words = np.array([is_word(token) for token in run.trace.source_tokens])
    found = np.where(words, measures.lost_without(run.request), -np.inf).argmax(axis=-1)
    return np.where([is_word(token) for token in run.trace.target_tokens], found, -1)


def needed_rows(run: Run) -> np.ndarray:
    """Count in how many rows each head has its largest weight on the word that is needed most: [layers, heads]."""
    needed = needed_keys(run)
    return np.asarray((run.trace.cross.argmax(axis=-1) == needed)[..., needed >= 0].sum(axis=-1))


def _aligners(run: Run, measured: Sequence[HeadMeasures]) -> list[HeadMeasures]:
    """Return the head that aligns most often, then others to choose from, clearly behind it by both yardsticks."""
    by_need = needed_rows(run)

    def rows(head: HeadMeasures) -> np.ndarray:
        return np.array([head.counts[OUTPUT].rows, by_need[head.layer, head.head]])

    best, *others = sorted(measured, key=lambda head: -int(rows(head).sum()))
    least = max(LEAD, NEAR * best.counts[OUTPUT].eligible)
    behind = [head for head in others if (rows(best) - rows(head)).min() >= least]
    first_by_input = [head for head in ranked_by(measured, INPUT)[:1] if any(head is each for each in behind)]
    if len(behind) < MOST_OPTIONS - 1:
        raise Undecided("Several heads do this about as often in this sentence.")
    chosen = {key_of(head): head for head in (best, *behind[:2], *first_by_input, *behind[2:])}
    return list(chosen.values())[:MOST_OPTIONS]


@measure
def best_aligner(run: Run) -> Answer:
    """Ask which cross-attention head most often reads the source word of its row's output token.

    Which source word that is, two yardsticks say: what all heads together read most (see `aligned_keys`), and what is
    missed most when it is hidden; no option but the right one comes near by either. names: layer and head (from 1),
    head_name.
    """
    measured, by_need = cross_heads(run.trace), needed_rows(run)
    best, *_ = chosen = _aligners(run, measured)
    eligible = best.counts[OUTPUT].eligible
    rows = {key_of(head): (head.counts[OUTPUT].rows, int(by_need[head.layer, head.head])) for head in chosen}
    told = {
        name: f"it reads the word that all heads read most in {mean} of {eligible} rows, the word that is missed most "
        f"in {need}."
        for name, (mean, need) in rows.items()
    }
    return Answer(
        Kind.ONE,
        f"{sentence_case(name_of(best))}: {told[key_of(best)]}",
        f"Rows of {eligible} that read the word all heads read most, and the word that is missed most: "
        + "; ".join("{}: {} and {}".format(name_of(head), *rows[key_of(head)]) for head in chosen)
        + ".",
        tuple(Option(key_of(head), name_of(head), sentence_case(told[key_of(head)])) for head in chosen),
        frozenset({key_of(best)}),
        names=names_of(best),
    )


@measure
def fed_in_row(run: Run) -> Answer:
    """Ask which token the decoder is fed in the row that writes a word. names: word, fed, row, layer, head (from 1)."""
    trace = run.trace
    layer, head = results.default_head(run.request, "cross")
    tokens = trace.target_tokens
    rows = [
        row
        for row in range(2, len(tokens) - 1)
        if all(map(is_word, tokens[row - 2 : row + 1])) and len(set(tokens[row - 2 : row + 2])) == MOST_OPTIONS
    ]
    if not rows:
        raise Undecided("No three words of different letters follow one another in this translation.")
    row = rows[len(rows) // 2]
    names, fed = readable(tokens), readable(trace.decoder_input_tokens)
    word = quoted(names[row])
    told = {
        row: "That is what this row writes: it cannot be fed it yet.",
        row + 1: f"That comes after {word}: it is not written yet.",
        row - 1: "",
        row - 2: "That is fed one row earlier.",
    }
    return Answer(
        Kind.ONE,
        f"The row that writes {word} is fed {quoted(fed[row])}, the output token before it.",
        f"What the decoder is fed: {quoted_all(fed[: row + 1])}; row {row + 1} is fed the last of these.",
        token_options(tokens, (row - 1, row, row + 1, row - 2), told.__getitem__, "output token"),
        frozenset({str(row - 1)}),
        names={
            **head_names(layer, head),
            "word": names[row],
            "fed": fed[row],
            "row": str(row + 1),
        },
    )


@measure
def read_when_fed(run: Run) -> Answer:
    """Ask what the best aligner reads in the row that is fed a word: its own source word, or the next one's.

    names: fed, word (what the row writes), read, row, layer, head (from 1), head_name.
    """
    trace = run.trace
    best = _aligners(run, cross_heads(trace))[0]
    weights = trace.cross[best.layer, best.head]
    aligned, needed = aligned_keys(trace.cross, trace.source_tokens, trace.target_tokens), needed_keys(run)
    largest = weights.argmax(axis=1)
    rows = [
        row
        for row in range(1, len(aligned))
        if min(aligned[row - 1 : row + 1]) >= 0
        and aligned[row - 1] != aligned[row] == largest[row] == needed[row]
        and _lead(weights[row]) >= NEAR
    ]
    if not rows:
        raise Undecided("In no row here does the best aligner read one word that belongs to the output token alone.")
    row = max(rows, key=lambda each: _lead(weights[each]))
    fed, word = readable(trace.decoder_input_tokens)[row], readable(trace.target_tokens)[row]
    source = readable(trace.source_tokens)
    digits = [percent(float(weight)) for weight in weights[row]]
    read = source[aligned[row]]
    others = [key for key in np.argsort(-weights[row], kind="stable") if is_word(trace.source_tokens[key])]
    return Answer(
        Kind.ONE,
        f"It looks at {quoted(read)}, {digits[aligned[row]]}: fed {quoted(fed)}, it has to write {quoted(word)}.",
        f"In this row it puts {digits[aligned[row - 1]]} on {quoted(source[aligned[row - 1]])} and "
        f"{digits[aligned[row]]} on {quoted(read)}.",
        token_options(
            trace.source_tokens,
            (aligned[row], aligned[row - 1], *others),
            lambda key: f"That gets {digits[key]}.",
        ),
        frozenset({str(aligned[row])}),
        names={**names_of(best), "fed": fed, "word": word, "read": read, "row": str(row + 1)},
    )


def _lead(row: np.ndarray) -> float:
    """Return how far the largest weight of a row is ahead of the second."""
    second, first = np.sort(row)[-2:] if len(row) > 1 else (0.0, 0.0)
    return float(first - second)


@measure
def better_reading(run: Run) -> Answer:
    """Ask whether the head that most often reads its input token's source word fits that or the output token better.

    names: layer, head (from 1), head_name, of the head.
    """
    head = ranked_by(cross_heads(run.trace), INPUT)[0]
    by_output, by_input = (float(head.counts[pattern]) for pattern in (OUTPUT, INPUT))
    if abs(head.counts[OUTPUT].rows - head.counts[INPUT].rows) < LEAD or abs(by_output - by_input) < NEAR:
        raise Undecided("No head fits the token that its rows are fed better than the one that they write here.")
    told = [f"Read so, it fits {in_rows(head, pattern)}." for pattern in (OUTPUT, INPUT)]
    return Answer(
        Kind.ONE,
        f"By the token that is fed it fits {in_rows(head, INPUT)}, by the token that is written "
        f"{in_rows(head, OUTPUT)}.",
        f"Rows of {name_of(head)} whose largest weight is on the source word of the token: written "
        f"{percent(by_output)}, fed {percent(by_input)}.",
        (
            Option("output", "its output, the token that a row writes", told[0]),
            Option("input", "its input, the token that a row is fed", told[1]),
            Option("either", "both equally well", "Count again: the two differ."),
        ),
        frozenset({"input" if by_input > by_output else "output"}),
        names=names_of(head),
    )


@measure
def aligning_layer(run: Run) -> Answer:
    """Ask in the heads of which layer of cross-attention rows read their output token's source word most often."""
    measured, by_need = cross_heads(run.trace), needed_rows(run).mean(axis=1)
    layers = sorted({head.layer for head in measured})
    means = {
        layer: float(np.mean([float(head.counts[OUTPUT]) for head in measured if head.layer == layer]))
        for layer in layers
    }
    first, *others = sorted(layers, key=lambda layer: -means[layer])
    if not others or means[first] - means[others[0]] < NEAR or by_need.argmax() != first:
        raise Undecided("No layer is clearly ahead of all others in this sentence.")
    shown = sorted([first, *others][:MOST_OPTIONS])
    return Answer(
        Kind.ONE,
        f"In layer {first + 1} it is {percent(means[first])} of all rows, in layer {others[-1] + 1} "
        f"{percent(means[others[-1]])}.",
        "The mean share of rows over the heads of each layer: "
        + "; ".join(f"layer {layer + 1}: {percent(means[layer])}" for layer in shown)
        + ".",
        tuple(
            Option(str(layer), f"layer {layer + 1}", f"There it is {percent(means[layer])} of all rows.")
            for layer in shown
        ),
        frozenset({str(first)}),
        names={"layer": str(first + 1)},
    )


@measure
@of_the_page
def input_head(run: Run) -> Answer:
    """Ask to choose, in the explorer, a head that reads its input token's source word in most rows, not its output's.

    names: layer and head (from 1) of the best aligner to begin with; found_layer and found_head of the right one.
    """
    measured = cross_heads(run.trace)
    known, aligner = ranked_by(measured, INPUT)[0], ranked_by(measured, OUTPUT)[0]
    if not _reads_its_input(known):
        raise Undecided("No head fits its input token in most rows of this sentence.")
    chosen = _chosen(run, measured) or aligner
    told = f"{sentence_case(name_of(chosen))} fits its input {in_rows(chosen, INPUT)}, its output"
    return Answer(
        Kind.DO,
        f"{told} {in_rows(chosen, OUTPUT)}.",
        f"One that fits is {name_of(known)}: it fits its input {in_rows(known, INPUT)}.",
        done=_reads_its_input(chosen),
        names={**names_of(aligner), "found_layer": str(known.layer + 1), "found_head": str(known.head + 1)},
    )


def _reads_its_input(head: HeadMeasures) -> bool:
    return float(head.counts[INPUT]) > 0.5 and _shift(head) >= PLAINLY


def _shift(head: HeadMeasures) -> float:
    return float(head.counts[INPUT]) - float(head.counts[OUTPUT])


def _chosen(run: Run, measured: Sequence[HeadMeasures]) -> HeadMeasures | None:
    """Return the one cross-attention head that is chosen in the explorer, None where it is another choice."""
    chosen = head_in(run.address)
    heads = {HeadRef(head.kind, head.layer, head.head): head for head in measured}
    return heads.get(chosen) if chosen else None
