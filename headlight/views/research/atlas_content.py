"""Payload of the finder of heads: measures of each head, and a sentence on its role."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headlight.app.facts import pattern_place, pattern_words
from headlight.app.finding import Finding, Templates
from headlight.language import quotations
from headlight.plots.names import KINDS, kind_head_name, kind_name, sentence_case
from headlight.plots.numbers import percent, signed
from transformer.corpus import AlignmentTable, Atlas, HeadEntry, Role
from transformer.interpret.head_patterns import HeadMeasures, Pattern, measure_heads
from transformer.interpret.trace import Trace, keys_of, masked_maps
from transformer.model.heads import Head
from transformer.model.names import AttentionKind

PLAIN = 0.5  # share of rows from which a head looks most at one place
_ENOUGH = 0.05  # of the rows that a pattern could be in, of those of the pattern with most: fewer say nothing
TEMPLATES = Templates.beside(__file__)
# Measures; the finder begins with the first two.
MEASURES = ("distance", "confidence", "entropy", "maximum", "absolute_distance", "end", "beginning", "punctuation")
ALIGNMENT_ERROR = "alignment_error"
_LABEL = "label "  # before a pattern, as a measure: in what share of the sentences a head has the label


@dataclass(frozen=True)
class HeadSummary:
    """Values of a head by name with their standard errors, the pattern that most of its rows follow, and its role."""

    heads: Head
    values: Mapping[str, tuple[float, float | None]]
    pattern: Pattern | None
    share: float
    role: Finding


def summaries_of_atlas(atlas: Atlas, alignment: AlignmentTable | None) -> list[HeadSummary]:
    """Return all heads of an atlas, with their alignment error rates where these were measured."""
    return [_summary(entry, atlas.sentences_measured, _error_rate(entry, alignment)) for entry in atlas.entries()]


def _summary(entry: HeadEntry, sentences: int, rate: tuple[float, float | None] | None) -> HeadSummary:
    values: dict[str, tuple[float, float | None]] = dict(entry.measures)
    values["special"] = (sum(entry.measures[name][0] for name in ("beginning", "end", "punctuation")), None)
    for pattern in Pattern:
        if entry.roles.get(pattern):
            values[_LABEL + pattern] = entry.share(pattern, sentences)
    if entry.importance:
        values["importance"] = entry.importance
    if rate:
        values[ALIGNMENT_ERROR] = rate
    plainest, share = plainest_pattern(entry.roles, sentences)
    heads = Head(entry.kind, entry.layer, entry.head)
    return HeadSummary(heads, values, plainest, share, describe_role(entry.roles, sentences))


def summaries_of_sentence(trace: Trace) -> list[HeadSummary]:
    """Return all heads by one sentence alone."""
    special, summaries = trace.special_share(), []
    for kind in AttentionKind:
        measured = measure_heads(kind, masked_maps(trace, kind), keys_of(trace, kind), trace.target_tokens)
        shares = special.total(kind)
        summaries += [_of_sentence(each, float(shares[each.layer, each.head])) for each in measured]
    return summaries


def _of_sentence(measured: HeadMeasures, special: float) -> HeadSummary:
    counts = {
        pattern: Role(int(pattern == measured.label), share.rows, share.eligible)
        for pattern, share in measured.counts.items()
    }
    pattern, share = plainest_pattern(counts)
    values = {"confidence": measured.confidence, "entropy": measured.entropy, "special": special}
    return HeadSummary(
        Head(measured.kind, measured.layer, measured.head),
        {name: (float(value), None) for name, value in values.items() if not math.isnan(value)},
        pattern,
        share,
        _headline(pattern, share).followed_by(TEMPLATES("one_sentence")),
    )


def _error_rate(entry: HeadEntry, alignment: AlignmentTable | None) -> tuple[float, float | None] | None:
    """Return the alignment error rate of a head of cross-attention, the lower of both readings, with its standard
    error, punctuation counted; None where it was not measured. An atlas alone does not have the error.
    """
    if entry.kind != AttentionKind.CROSS:
        return None
    if alignment is None:
        return None if entry.alignment_error_rate is None else (entry.alignment_error_rate, None)
    return alignment.best_rate(entry.layer, entry.head)


def plainest_pattern(roles: Mapping[Pattern, Role], sentences: int = 0) -> tuple[Pattern | None, float]:
    """Return a head's pattern, and the share of the rows that follow it among those that could.

    It is the label that the head has in most sentences, where these are PLAIN of them, else the pattern that most rows
    follow. One that few rows could follow has no say, nor a line parallel to the antidiagonal that fewer than PLAIN
    follow: it is the best of many lines, on one of which any head has some rows.
    """
    most = max((role.eligible for role in roles.values()), default=0)
    shares = {
        pattern: roles[pattern].rows / roles[pattern].eligible
        for pattern in Pattern
        if pattern in roles and roles[pattern].eligible > _ENOUGH * most
    }
    if shares.get(Pattern.MIRRORED, 1.0) < PLAIN:
        del shares[Pattern.MIRRORED]
    if not shares:
        return None, 0.0
    usual = max(shares, key=lambda pattern: roles[pattern].labelled)
    if sentences and roles[usual].labelled >= PLAIN * sentences:
        return usual, shares[usual]
    pattern = max(shares, key=shares.__getitem__)
    return pattern, shares[pattern]


def describe_role(roles: Mapping[Pattern, Role], sentences: int) -> Finding:
    """Return where a head looks over a corpus, with counts."""
    pattern, share = plainest_pattern(roles, sentences)
    if pattern is None:
        return TEMPLATES("no_pattern").followed_by(TEMPLATES("over", sentences=sentences))
    role = roles[pattern]
    labelled, error = role.share(sentences)
    return _headline(pattern, share).followed_by(
        TEMPLATES("counts", rows=role.rows, eligible=role.eligible, sentences=sentences),
        TEMPLATES("labelled", pattern=pattern_words()[pattern][2], labelled=labelled, error=100 * error),
    )


def _headline(pattern: Pattern | None, share: float) -> Finding:
    if pattern is None:
        return TEMPLATES("no_pattern")
    looks_at = {"looks_at": pattern_place(pattern), "share": share}
    if share < PLAIN:
        return TEMPLATES("no_one_place", **looks_at)
    return TEMPLATES("most_rows", rows=sentence_case(percent(share)), **looks_at)


def finder_payload(summaries: Sequence[HeadSummary]) -> dict:
    """Return the payload of `components.head_finder`, ready for JSON, without the visitor's choice.

    measures: name, label and explanation of each that some head has; patterns: name and words of those that some head
    follows most; heads: of each its kind, layer and head from 0, name, pattern, share of rows, and headline; values: by
    measure, of each head [value, standard error], null where it was not measured.
    """
    measures = _measures_of(summaries)
    patterns = [pattern for pattern in Pattern if any(each.pattern == pattern for each in summaries)]
    return {
        "measures": [{"name": name, "label": label, "says": says} for name, (label, says) in measures.items()],
        "kinds": [{"kind": kind, "name": kind_name(kind)} for kind in KINDS],
        "patterns": [{"name": str(pattern), "words": pattern_place(pattern)} for pattern in patterns],
        "heads": [
            {
                "kind": str(each.heads.kind),
                "layer": each.heads.layer,
                "head": each.heads.head,
                "name": kind_head_name(each.heads),
                "pattern": "" if each.pattern is None else str(each.pattern),
                "share": round(each.share, 4),
                "says": each.role.headline,
            }
            for each in summaries
        ],
        "values": {name: [_sent(each.values.get(name)) for each in summaries] for name in measures},
    }


def _measures_of(summaries: Sequence[HeadSummary]) -> dict[str, tuple[str, ...]]:
    every = {name: ("measure_" + name, "") for name in (*MEASURES, "special", "importance", ALIGNMENT_ERROR)}
    every |= {_LABEL + pattern: ("label", words[2]) for pattern, words in pattern_words().items()}
    return {
        name: tuple(quotations(TEMPLATES.text(each, pattern=pattern)) for each in (template, f"{template}_says"))
        for name, (template, pattern) in every.items()
        if any(name in each.values for each in summaries)
    }


def _sent(value: tuple[float, float | None] | None) -> list[float | None] | None:
    if value is None:
        return None
    mean, error = value
    return [round(mean, 4), None if error is None else round(error, 4)]


def with_error(mean: float, error: float | None) -> str:
    """Write a mean with its standard error: "0.71 ± 0.01", "0.713 ± 0.002", "0.5903 ± 0.0003"."""
    if error is None:
        return signed(mean, 2)
    digits = 2 + (0 < error < 0.005) + (0 < error < 0.0005)
    return f"{signed(mean, digits)} ± {error:.{digits}f}"
