"""Payload of one head: its sentence, numbers, examples as token lines, histograms and top pairs."""

from collections.abc import Sequence

import numpy as np

from headlight.app.finding import Finding, Templates
from headlight.components.standalone import Words, standalone
from headlight.plots.names import kind_head_name, one_head_name, sentence_case
from headlight.plots.numbers import percent, signed, two_digits
from headlight.plots.tokens import shown_token
from headlight.views.research.atlas_content import with_error
from transformer.corpus import FIFTHS, LEAST_WEIGHT, Atlas, Example, HeadEntry, Join
from transformer.interpret.head_patterns import Pattern, word_ranges
from transformer.interpret.trace import RowLabel, Trace, attention_map, name_rows
from transformer.model.heads import Head
from transformer.model.names import AttentionKind

OWN, STRONGEST = "own", "strongest"
GROUPS = (STRONGEST, *map(str, range(FIFTHS, 0, -1)))
TEMPLATES = Templates.beside(__file__)


def head_payload(
    heads: Head,
    role: Finding,
    trace: Trace,
    atlas: Atlas | None,
    error_rate: tuple[float, float | None] | None,
    gold: tuple[str, int] | None = None,
) -> dict:
    """Return the payload of `components.head_card` for a head, ready for JSON.

    role: the head's function; trace: the visitor's sentence; without an atlas there is no more. error_rate: that of
    its alignment, and `gold` the name and number of sentences of the links that it was measured against.
    """
    entry = atlas.head(heads.kind, *heads.index) if atlas else None
    by_input = reads_by_input(heads, entry)
    first = own_example(heads, trace, by_input=by_input)
    payload: dict = {
        "name": kind_head_name(heads),
        "headline": role.headline,
        "sure": role.more,
        "rows": rows_named(heads.kind, by_input=by_input),
        "examples": [first],
        **dict.fromkeys(("groups", "facts", "histograms", "joins", "nearest"), []),
        "of": "",
    }
    if atlas is None or entry is None:
        return payload
    count = atlas.sentences_measured
    examples = [_example(atlas, entry, each, by_input=by_input) for each in entry.examples]
    there = {each["group"] for each in examples}
    return {
        **payload,
        "examples": [first, *examples],
        "groups": [[each, TEMPLATES.text(f"group_{each}")] for each in GROUPS if each in there],
        "facts": facts(entry, error_rate, gold),
        "histograms": histograms(entry, count),
        "joins": joins(entry),
        "nearest": [
            {
                "kind": str(entry.kind),
                "layer": each.layer,
                "head": each.head,
                "cosine": signed(each.cosine, 2),
                "name": one_head_name(each.layer, each.head),
            }
            for each in entry.nearest[:3]
        ],
        "of": f"{describe_corpus(atlas)} {TEMPLATES.text('labels')}",
    }


def reads_by_input(heads: Head, entry: HeadEntry | None) -> bool:
    """Return whether a head of cross-attention aligns its rows' input tokens oftener than their output tokens."""
    if heads.kind != AttentionKind.CROSS or entry is None:
        return False
    shares = [
        role.rows / max(role.eligible, 1) if (role := entry.roles.get(pattern)) else 0.0
        for pattern in (Pattern.OUTPUT_ALIGNMENT, Pattern.INPUT_ALIGNMENT)
    ]
    return shares[1] > shares[0]


def rows_named(kind: AttentionKind | str, *, by_input: bool) -> str:
    """Return the caption of the tokens above and below the lines."""
    return TEMPLATES.text(f"rows_{kind}", named_by=TEMPLATES.text("by_input" if by_input else "by_output"))


def own_example(heads: Head, trace: Trace, *, by_input: bool) -> dict:
    """Return a head's map of the visitor's own sentence, as the examples are."""
    shown = attention_map(trace, heads.kind, heads.layer, heads.head, _row_label(heads.kind, by_input=by_input))
    weights = np.nan_to_num(shown.weights)
    drawn = np.flatnonzero(weights >= LEAST_WEIGHT)
    lines = _lines(shown.keys, shown.queries, drawn.tolist(), weights.ravel()[drawn].round(4).tolist())
    return {"group": OWN, "label": TEMPLATES.text("own"), **lines}


def _example(atlas: Atlas, entry: HeadEntry, example: Example, *, by_input: bool) -> dict:
    fed, predicted, columns = atlas.sentences[example.sentence].labels(entry.kind)
    rows = name_rows(fed, predicted, _row_label(entry.kind, by_input=by_input))
    group = STRONGEST if example.strongest else str(example.fifth + 1)
    label = TEMPLATES.text("sure", confidence=example.confidence)
    return {"group": group, "label": label, **_lines(columns, rows, example.cells, example.weights)}


def _row_label(kind: AttentionKind | str, *, by_input: bool) -> RowLabel:
    return RowLabel.PREDICTED if kind == AttentionKind.CROSS and not by_input else RowLabel.FED


def _lines(keys: Sequence[str], queries: Sequence[str], cells: Sequence[int], weights: Sequence[float]) -> dict:
    return {
        "keys": list(keys),
        "queries": list(queries),
        "key_words": [[each.start, each.stop] for each in word_ranges(keys)],
        "query_words": [[each.start, each.stop] for each in word_ranges(queries)],
        "cells": list(cells),
        "weights": list(weights),
    }


def facts(
    entry: HeadEntry, error_rate: tuple[float, float | None] | None, gold: tuple[str, int] | None
) -> list[dict[str, str]]:
    """Return the numbers of a head: name, value with its standard error, and explanation."""
    values = {"lost": with_error(*entry.importance) if entry.importance else TEMPLATES.text("not_measured")}
    if entry.kind == AttentionKind.CROSS:
        values["alignment"] = with_error(*error_rate) if error_rate else TEMPLATES.text("not_measured")
    values |= {
        "confidence": percent(entry.measures["confidence"][0]),
        "entropy": with_error(*entry.measures["entropy"]),
    }
    links = TEMPLATES("links", gold=gold[0], sentences=gold[1]) if gold else ""
    return [
        {"name": TEMPLATES.text(name), "value": value, "says": TEMPLATES.text(f"{name}_says", links=links)}
        for name, value in values.items()
    ]


def histograms(entry: HeadEntry, sentences: int) -> list[dict]:
    """Return the histograms of a head over the sentences, each with its title and a sentence."""
    spread = TEMPLATES("narrow" if _is_narrow(entry.confidence) else "broad")
    counts = {"confidence": (entry.confidence, entry.borders), "maximum": (entry.greatest, ())}
    return [
        {
            "title": TEMPLATES.text(f"{name}_title"),
            "counts": list(bars),
            "borders": list(borders),
            "says": TEMPLATES.text(f"{name}_bars", sentences=sentences, mean=entry.measures[name][0], spread=spread),
        }
        for name, (bars, borders) in counts.items()
    ]


def _is_narrow(counts: Sequence[int]) -> bool:
    """Return whether four in five of the counts lie within a fifth of the bins."""
    wide, total = len(counts) // 5, sum(counts)
    return max(sum(counts[start : start + wide]) for start in range(len(counts) - wide + 1)) >= 0.8 * total


def joins(entry: HeadEntry) -> list[dict]:
    """Return the tokens that a head joins most: pairs, keys and queries, each a table with its title."""

    def row(join: Join) -> list[str]:
        names = [shown_token(each) for each in (join.query, join.key) if each is not None]
        return [" → ".join(names), f"{join.rows:,}", two_digits(join.weight / join.rows) if join.rows else ""]

    header = [TEMPLATES.text(f"header_{name}") for name in ("token", "rows", "mean")]
    return [
        {"title": TEMPLATES.text(f"top_{name}"), "header": header, "rows": [row(join) for join in joined[:_SHOWN]]}
        for name in ("pairs", "keys", "queries")
        if (joined := getattr(entry, name))
    ]


_SHOWN = 6


def describe_corpus(atlas: Atlas) -> Finding:
    """Return the corpus of an atlas."""
    source, lines = atlas.provenance, sum(atlas.provenance.skipped.values())
    return TEMPLATES(
        "corpus",
        sentences=atlas.sentences_measured,
        pairs=tuple(source.pairs),
        source_tokens=atlas.tokens[0],
        target_tokens=atlas.tokens[1],
        skipped=TEMPLATES("skipped", lines=lines) if lines else "",
        sample=source.sample,
    )


def head_page(payload: dict, trace: Trace, checkpoint: str) -> str:
    """Return one HTML file of a head."""
    title, look_for = TEMPLATES.text("title", head=sentence_case(payload["name"])), TEMPLATES.text("look_for")
    words = Words(title, trace.source_text, trace.target_text, checkpoint, look_for, payload["of"])
    return standalone("head_card/card", payload, words)


def how_to_make(checkpoint: str) -> str:
    """Explain how to make an atlas for a checkpoint, in Markdown."""
    return TEMPLATES.text("how_to_make", checkpoint=checkpoint.replace("`", ""))
