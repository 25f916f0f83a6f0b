"""Measures of the heads that align words, by the token that a row writes and by the token that it is fed."""

from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np

from headlight.app import results
from headlight.lessons.answer import Answer, Kind, Option, Run, Undecided, largest, measure, of_the_page
from headlight.plots.names import one_head_name, sentence_case
from headlight.plots.numbers import percent
from headlight.plots.tokens import quoted, quoted_at
from transformer.interpret.head_patterns import HeadMeasures, Pattern, aligned_keys, is_word, measure_heads
from transformer.interpret.trace import Trace, masked_maps
from transformer.model.heads import Head

from .wording import MOST_OPTIONS, NEAR, head_in, head_names, in_percent, lead, quoted_all, readable, token_options

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
    """Return the heads that follow a pattern in clearly fewer rows than the best one."""
    least = max(LEAD, NEAR * best.counts[pattern].eligible)
    return [head for head in others if best.counts[pattern].rows - head.counts[pattern].rows >= least]


def name_of(head: HeadMeasures) -> str:
    """Return a head's name: "layer 3, head 5"."""
    return one_head_name(head.layer, head.head)


def in_rows(head: HeadMeasures, pattern: Pattern) -> str:
    """Return the number of rows in which a head follows a pattern in words: "in 6 of 9 rows"."""
    count = head.counts[pattern]
    return f"in {count.rows} of {count.eligible} rows"


def rows_of(head: HeadMeasures, pattern: Pattern) -> dict[str, Any]:
    """Return in how many rows a head follows a pattern, of how many eligible."""
    count = head.counts[pattern]
    return {"rows": count.rows, "eligible": count.eligible}


def names_of(head: HeadMeasures) -> dict[str, Any]:
    """Return the names of a head: layer, head and head_name."""
    return head_names(head.layer, head.head)


def key_of(head: HeadMeasures) -> str:
    """Return the key of a head among the options: "3.5"."""
    return f"{head.layer + 1}.{head.head + 1}"


def needed_keys(run: Run) -> np.ndarray:
    """Find for each output token the source word without which its log P falls most: [outputs], -1 for what is no word.

    A second opinion on the source word of an output word: it reads no weights.
    """
    words = np.array([is_word(token) for token in run.trace.source_tokens])
    keys = np.where(words, run.study.lost_without(), -np.inf).argmax(axis=-1)
    return np.where([is_word(token) for token in run.trace.target_tokens], keys, -1)


def needed_rows(run: Run) -> np.ndarray:
    """Count the rows in which each head has its largest weight on the word that is needed most: [layers, heads]."""
    needed = needed_keys(run)
    return np.asarray((run.trace.cross.argmax(axis=-1) == needed)[..., needed >= 0].sum(axis=-1))


def _aligners(run: Run) -> list[tuple[HeadMeasures, np.ndarray]]:
    """Return heads with their rows by both yardsticks: the one that aligns most often, then others clearly behind."""
    measured, by_need = cross_heads(run.trace), needed_rows(run)
    rows = {key_of(head): np.array([head.counts[OUTPUT].rows, by_need[head.layer, head.head]]) for head in measured}
    best, *others = sorted(measured, key=lambda head: -int(rows[key_of(head)].sum()))
    least = max(LEAD, NEAR * best.counts[OUTPUT].eligible)
    behind = [head for head in others if (rows[key_of(best)] - rows[key_of(head)]).min() >= least]
    first_by_input = [head for head in ranked_by(measured, INPUT)[:1] if any(head is each for each in behind)]
    if len(behind) < MOST_OPTIONS - 1:
        raise Undecided("Several heads do this about as often in this sentence.")
    chosen = {key_of(head): head for head in (best, *behind[:2], *first_by_input, *behind[2:])}
    return [(head, rows[key]) for key, head in list(chosen.items())[:MOST_OPTIONS]]


@measure
def best_aligner(run: Run) -> Answer:
    """Ask which cross-attention head most often reads the source word of its row's output token.

    Two yardsticks name that source word: what all heads together read most (see `aligned_keys`), and what is missed
    most when it is hidden; no option but the right one comes near by either. names: layer, head, head_name.
    """
    aligners = _aligners(run)
    best = aligners[0][0]
    eligible = best.counts[OUTPUT].eligible
    options = tuple(
        Option(
            key_of(head),
            name_of(head),
            f"It reads the word that all heads read most in {mean} of {eligible} rows, the word that is missed most in "
            f"{need}.",
            float(mean),
        )
        for head, (mean, need) in aligners
    )
    return Answer(
        Kind.ONE,
        f"{sentence_case(name_of(best))}: {options[0].feedback[0].lower()}{options[0].feedback[1:]}",
        f"Rows of {eligible} that read the word all heads read most, and the word that is missed most: "
        + "; ".join(f"{name_of(head)}: {mean} and {need}" for head, (mean, need) in aligners)
        + ".",
        options,
        largest(options),
        names=names_of(best),
    )


@measure
def fed_in_row(run: Run) -> Answer:
    """Ask which token the decoder is fed in the row that writes a word. names: word, fed, row, layer, head (from 1)."""
    trace = run.trace
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
    feedback = {
        row - 1: "",
        row: "That is what this row writes: it cannot be fed it yet.",
        row + 1: f"That comes after {word}: it is not written yet.",
        row - 2: "That is fed one row earlier.",
    }
    return Answer(
        Kind.ONE,
        f"The row that writes {word} is fed {quoted(fed[row])}, the output token before it.",
        f"What the decoder is fed: {quoted_all(fed[: row + 1])}; row {row + 1} is fed the last of these.",
        tuple(Option(str(at), quoted_at(names, at, "output token"), text) for at, text in feedback.items()),
        {str(row - 1)},
        names=head_names(*results.default_head(run.request, "cross").index)
        | {"word": names[row], "fed": fed[row], "row": row},
    )


@measure
def read_when_fed(run: Run) -> Answer:
    """Ask what the best aligner reads in the row that is fed a word: its own source word, or the next one's.

    names: fed, word (what the row writes), read, row, layer, head, head_name.
    """
    trace = run.trace
    best = _aligners(run)[0][0]
    weights = trace.cross[best.layer, best.head]
    aligned, needed = aligned_keys(trace.cross, trace.source_tokens, trace.target_tokens), needed_keys(run)
    rows = [
        row
        for row in range(1, len(aligned))
        if min(aligned[row - 1 : row + 1]) >= 0
        and aligned[row - 1] != aligned[row] == weights[row].argmax() == needed[row]
        and lead(weights[row]) >= NEAR
    ]
    if not rows:
        raise Undecided("In no row here does the best aligner read one word that belongs to the output token alone.")
    row = max(rows, key=lambda each: lead(weights[each]))
    now, before = int(aligned[row]), int(aligned[row - 1])
    fed, word = readable(trace.decoder_input_tokens)[row], readable(trace.target_tokens)[row]
    source = readable(trace.source_tokens)
    digits = [percent(float(weight)) for weight in weights[row]]
    words = [key for key in np.argsort(-weights[row], kind="stable") if is_word(trace.source_tokens[key])]
    options = token_options(
        trace.source_tokens, (now, before, *words), weights[row], lambda key: f"That gets {digits[key]}."
    )
    return Answer(
        Kind.ONE,
        f"It looks at {quoted_at(source, now)}, {digits[now]}: fed {quoted(fed)}, it has to write {quoted(word)}.",
        f"In this row it puts {digits[before]} on {quoted_at(source, before)} and {digits[now]} on "
        f"{quoted_at(source, now)}.",
        options,
        largest(options),
        names=names_of(best) | {"fed": fed, "word": word, "read": source[now], "row": row},
    )


@measure
def better_reading(run: Run) -> Answer:
    """Ask whether a head fits the source word of its input or of its output token better.

    It is the head that reads its input's most often, the second one by its output's, or one that reads both in as many
    rows: the text decides which. names: layer, head, head_name.
    """
    measured = cross_heads(run.trace)
    ranked = ranked_by(measured, OUTPUT)
    alike = [head for head in ranked if head.counts[OUTPUT] == head.counts[INPUT] and head.counts[INPUT].rows >= LEAD]
    candidates = [ranked_by(measured, INPUT)[0], ranked[1], *alike[:1]]
    head = candidates[crc32(run.request.text.encode()) % len(candidates)]
    shares = by_output, by_input = [float(head.counts[pattern]) for pattern in (OUTPUT, INPUT)]
    is_alike = head.counts[OUTPUT] == head.counts[INPUT]
    if not is_alike and (
        abs(head.counts[OUTPUT].rows - head.counts[INPUT].rows) < LEAD or abs(by_output - by_input) < NEAR
    ):
        raise Undecided("The head that is shown fits both of its tokens nearly alike here.")
    labels = ("output", "its output, the token that a row writes"), ("input", "its input, the token that a row is fed")
    options = tuple(
        Option(*label, f"Read so, it fits {in_rows(head, pattern)}.", share)
        for label, pattern, share in zip(labels, (OUTPUT, INPUT), shares, strict=True)
    )
    return Answer(
        Kind.ONE,
        f"By the token that is fed it fits {in_rows(head, INPUT)}, by the token that is written "
        f"{in_rows(head, OUTPUT)}.",
        f"Rows of {name_of(head)} whose largest weight is on the source word of the token: written "
        f"{percent(by_output)}, fed {percent(by_input)}.",
        (*options, Option("either", "both equally often", "Count again: the two differ.")),
        {"either"} if is_alike else largest(options),
        names=names_of(head),
    )


@measure
def aligning_layer(run: Run) -> Answer:
    """Ask for the mean share of rows that read their output token's source word in the layer where it is largest.

    names: layer, and low_layer, where it is smallest, with its share, low.
    """
    measured = cross_heads(run.trace)
    layers = range(run.trace.cross.shape[0])
    means = [np.mean([float(head.counts[OUTPUT]) for head in measured if head.layer == layer]) for layer in layers]
    first, low = int(np.argmax(means)), int(np.argmin(means))
    if means[first] - means[low] < NEAR:
        raise Undecided("No layer is clearly ahead of another one in this sentence.")
    shares = [percent(float(mean)) for mean in means]
    return Answer(
        Kind.NUMBER,
        f"In layer {first + 1} it is {shares[first]} of all rows, in layer {low + 1} {shares[low]}.",
        "The mean share of rows over the heads of each layer: "
        + "; ".join(f"layer {layer + 1}: {share}" for layer, share in enumerate(shares))
        + ".",
        **in_percent(float(means[first])),
        names={"layer": first, "low_layer": low, "low": shares[low]},
    )


@measure
@of_the_page
def input_head(run: Run) -> Answer:
    """Ask to choose, in the explorer, a head that reads its input token's source word in most rows, not its output's.

    names: layer and head of the best aligner to begin with; found_layer and found_head of the right one.
    """
    measured = cross_heads(run.trace)
    known, aligner = ranked_by(measured, INPUT)[0], ranked_by(measured, OUTPUT)[0]
    if not _reads_its_input(known):
        raise Undecided("No head fits its input token in most rows of this sentence.")
    heads: dict[Head | None, HeadMeasures] = {Head(head.kind, head.layer, head.head): head for head in measured}
    shown = heads.get(head_in(run.address), aligner)
    return Answer(
        Kind.DO,
        f"{sentence_case(name_of(shown))} fits its input {in_rows(shown, INPUT)}, its output {in_rows(shown, OUTPUT)}.",
        f"One that fits is {name_of(known)}: it fits its input {in_rows(known, INPUT)}.",
        done=_reads_its_input(shown),
        names=names_of(aligner) | {"found_layer": known.layer, "found_head": known.head},
    )


def _reads_its_input(head: HeadMeasures) -> bool:
    by_input = float(head.counts[INPUT])
    return by_input > 0.5 and by_input - float(head.counts[OUTPUT]) >= PLAINLY
