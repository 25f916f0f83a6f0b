"""Measures of the heads that align words, by the token that a row writes and by the token that it is fed."""

from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np

from headlight.app import results
from headlight.app.finding import TokenAt
from headlight.lessons.answer import Answer, Kind, Option, Run, Undecided, measure, of_the_page, one_of, percentage
from headlight.lessons.words import Say
from transformer.interpret.head_patterns import HeadMeasures, Pattern, aligned_keys, is_word, measure_heads
from transformer.interpret.trace import Trace, masked_maps
from transformer.model.heads import Head

from .wording import MOST_OPTIONS, NEAR, head_in, head_names, lead, readable, token_options

PLAINLY = 0.2  # of the rows, by which one reading must be better where a head is searched for
LEAD = 2  # rows by which one head must be ahead of another, to be seen
OUTPUT, INPUT = Pattern.OUTPUT_ALIGNMENT, Pattern.INPUT_ALIGNMENT


def cross_heads(trace: Trace) -> list[HeadMeasures]:
    """Measure all heads of cross-attention; Undecided where too few rows can tell what a head aligns."""
    measured = measure_heads("cross", masked_maps(trace, "cross"), trace.source_tokens, trace.target_tokens)
    if not all(np.isfinite(float(measured[0].counts[pattern])) for pattern in (OUTPUT, INPUT)):
        raise Undecided("too_few_words_or_heads")
    return measured


def ranked_by(measured: Sequence[HeadMeasures], pattern: Pattern) -> list[HeadMeasures]:
    """Return heads by their share of rows of a pattern, the largest first."""
    return sorted(measured, key=lambda head: -float(np.nan_to_num(head.shares[pattern])))


def plainly_behind(best: HeadMeasures, others: Sequence[HeadMeasures], pattern: Pattern) -> list[HeadMeasures]:
    """Return the heads that follow a pattern in clearly fewer rows than the best one."""
    least = max(LEAD, NEAR * best.counts[pattern].eligible)
    return [head for head in others if best.counts[pattern].rows - head.counts[pattern].rows >= least]


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
        raise Undecided("several_heads")
    chosen = {key_of(head): head for head in (best, *behind[:2], *first_by_input, *behind[2:])}
    return [(head, rows[key]) for key, head in list(chosen.items())[:MOST_OPTIONS]]


@measure
def best_aligner(run: Run) -> Answer:
    """Ask which cross-attention head most often reads the source word of its row's output token.

    Two yardsticks name that source word: what all heads together read most (see `aligned_keys`), and what is missed
    most when it is hidden; no option but the right one comes near by either. names: layer, head, head_name, rows and
    need (by either yardstick), eligible.
    """
    return one_of(
        Option(key_of(head), value=float(rows), values=names_of(head) | rows_of(head, OUTPUT) | {"need": int(need)})
        for head, (rows, need) in _aligners(run)
    )


@measure
def fed_in_row(run: Run) -> Answer:
    """Ask which token the decoder is fed in the row that writes a word. names: word, fed, row, layer, head (from 1).

    inputs: all that it is fed up to this row; token: of an option.
    """
    trace = run.trace
    tokens = trace.target_tokens
    rows = [
        row
        for row in range(2, len(tokens) - 1)
        if all(map(is_word, tokens[row - 2 : row + 1])) and len(set(tokens[row - 2 : row + 2])) == MOST_OPTIONS
    ]
    if not rows:
        raise Undecided("no_three_words")
    row = rows[len(rows) // 2]
    names, fed = readable(tokens), readable(trace.decoder_input_tokens)
    tells = {row - 1: "fed", row: "written", row + 1: "not_yet", row - 2: "earlier"}
    return one_of(
        [Option(str(at), values={"token": TokenAt(names, at, "output token")}, tells=tells[at]) for at in tells],
        str(row - 1),
        **head_names(*results.default_head(run.request, "cross").index)
        | {"word": names[row], "fed": fed[row], "inputs": fed[: row + 1], "row": row},
    )


@measure
def read_when_fed(run: Run) -> Answer:
    """Ask what the best aligner reads in the row that is fed a word: its own source word, or the next one's.

    names: fed, word (what the row writes), read, row, layer, head, head_name, token and its weight, value; before (the
    source word of what is fed) and its weight.
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
        raise Undecided("no_row_of_output_alone")
    row = max(rows, key=lambda each: lead(weights[each]))
    now, before = int(aligned[row]), int(aligned[row - 1])
    source = readable(trace.source_tokens)
    words = [key for key in np.argsort(-weights[row], kind="stable") if is_word(trace.source_tokens[key])]
    return one_of(
        token_options(trace.source_tokens, (now, before, *words), weights[row]),
        **names_of(best)
        | {"fed": readable(trace.decoder_input_tokens)[row], "word": readable(trace.target_tokens)[row]}
        | {"before": TokenAt(source, before), "before_weight": float(weights[row, before])}
        | {"read": source[now], "row": row},
    )


@measure
def better_reading(run: Run) -> Answer:
    """Ask whether a head fits the source word of its input or of its output token better.

    It is the head that reads its input's most often, the second one by its output's, or one that reads both in as many
    rows: the text decides which. names: layer, head, head_name, those of `_both_rows`, and of an option rows, eligible.
    """
    measured = cross_heads(run.trace)
    ranked = ranked_by(measured, OUTPUT)
    alike = [head for head in ranked if head.counts[OUTPUT] == head.counts[INPUT] and head.counts[INPUT].rows >= LEAD]
    candidates = [ranked_by(measured, INPUT)[0], ranked[1], *alike[:1]]
    head = candidates[crc32(run.request.text.encode()) % len(candidates)]
    by_output, by_input = (head.counts[pattern] for pattern in (OUTPUT, INPUT))
    is_alike = by_output == by_input
    if not is_alike and (abs(by_output.rows - by_input.rows) < LEAD or abs(float(by_output) - float(by_input)) < NEAR):
        raise Undecided("both_tokens_alike")
    options = [
        Option(name, value=float(head.counts[pattern]), values=rows_of(head, pattern))
        for name, pattern in (("output", OUTPUT), ("input", INPUT))
    ]
    names = names_of(head) | _both_rows(head)
    return one_of([*options, Option("either")], "either" if is_alike else "", **names)


@measure
def aligning_layer(run: Run) -> Answer:
    """Ask for the mean share of rows that read their output token's source word in the layer where it is largest.

    names: layer with its share, and low_layer, where it is smallest, with its share, low; shares, of_layer for each.
    """
    measured = cross_heads(run.trace)
    layers = range(run.trace.cross.shape[0])
    means = [np.mean([float(head.counts[OUTPUT]) for head in measured if head.layer == layer]) for layer in layers]
    first, low = int(np.argmax(means)), int(np.argmin(means))
    if means[first] - means[low] < NEAR:
        raise Undecided("no_layer_ahead")
    shares = [{"layer": layer, "share": float(mean)} for layer, mean in enumerate(means)]
    lowest = {"low_layer": low, "low": float(means[low])}
    every = tuple(Say("of_layer", share) for share in shares)
    return percentage(**shares[first], **lowest, shares=every)


@measure
@of_the_page
def input_head(run: Run) -> Answer:
    """Ask to choose, in the explorer, a head that reads its input token's source word in most rows, not its output's.

    names: layer and head of the best aligner to begin with; found_layer and found_head of the right one, with its rows
    and eligible; shown_layer and shown_head of that on the page, with those of `_both_rows`.
    """
    measured = cross_heads(run.trace)
    known, aligner = ranked_by(measured, INPUT)[0], ranked_by(measured, OUTPUT)[0]
    if not _reads_its_input(known):
        raise Undecided("no_input_head")
    heads: dict[Head | None, HeadMeasures] = {Head(head.kind, head.layer, head.head): head for head in measured}
    shown = heads.get(head_in(run.address), aligner)
    return Answer(
        Kind.DO,
        done=_reads_its_input(shown),
        names=names_of(aligner)
        | {"found_layer": known.layer, "found_head": known.head, **rows_of(known, INPUT)}
        | {"shown_layer": shown.layer, "shown_head": shown.head, **_both_rows(shown)},
    )


def _both_rows(head: HeadMeasures) -> dict[str, Any]:
    """Return the rows by_input and by_output of a head, of_input and of_output eligible, and share_input and so on."""
    return {
        f"{name}_{token}": value
        for token, count in (("input", head.counts[INPUT]), ("output", head.counts[OUTPUT]))
        for name, value in (("by", count.rows), ("of", count.eligible), ("share", float(count)))
    }


def _reads_its_input(head: HeadMeasures) -> bool:
    by_input = float(head.counts[INPUT])
    return by_input > 0.5 and by_input - float(head.counts[OUTPUT]) >= PLAINLY
