"""Laws of what the explorer receives of a head: label, rows and confidence, counted here row by row."""

import json
from functools import cache

import numpy as np
import pytest
from support.head_rows import Head, thresholds
from support.traces import CHECKPOINT, KINDS, traces, translator

from headlight.app.facts import pattern_facts
from transformer.corpus.head_roles import load_roles
from transformer.interpret.head_patterns import Pattern, measure_heads
from transformer.interpret.trace import keys_of, masked_maps


@cache
def every_head():
    """Each head of each sentence: as it is measured, and by hand."""
    found = []
    for trace in traces():
        average = trace.cross.astype(np.float64).mean(axis=(0, 1))
        for kind in KINDS:
            keys = keys_of(trace, kind)
            for head in measure_heads(kind, masked_maps(trace, kind), keys, trace.target_tokens):
                weights = getattr(trace, kind)[head.layer, head.head]
                found.append((head, Head(kind, weights, keys, trace.target_tokens, average)))
    return found


def label_by_hand(own):
    """The first label whose threshold the rules, as they are written, let a head reach."""
    reached = (
        name
        for name, (least, rows) in thresholds().items()
        for follow, could in [own.count(name)]
        if could >= rows and follow / could >= least
    )
    return None if own.tied() else next(reached, None)


def test_every_head_has_the_label_and_the_confidence_of_its_rows():
    assert set(thresholds()) == set(Pattern)
    seen = set()
    for head, own in every_head():
        label = label_by_hand(own)
        assert head.label == label, (head.kind, head.layer, head.head)
        sharp = np.mean([row[[k != "</s>" for k in own.keys[: len(row)]]].max() for row in own.rows.values()] or [0])
        facts = pattern_facts([head])
        assert facts["confidence"] == [pytest.approx(sharp, abs=2e-6)] and facts["labels"] == [label]
        if label:
            assert facts["counts"][label] == [list(own.count(label))]
        seen.add(label)
    assert len(seen) >= 6, "the sentences show most patterns"


def test_two_equal_maxima_keep_a_head_from_a_label_and_a_row_that_cannot_follow_is_not_counted():
    weights = np.full((5, 5), 0.1)
    weights[np.arange(5), np.arange(5)] = 0.6
    assert measure_heads("encoder", weights[None, None], tuple("abcde"))[0].label == Pattern.SAME
    weights[0] = [0.4, 0.4, 0.1, 0.05, 0.05]
    assert measure_heads("encoder", weights[None, None], tuple("abcde"))[0].label is None
    keys = ("<s>", ".", "b", ",", "c", "d", "e", "f", "g")
    weights = np.where(np.tri(9, dtype=bool), 0.01, np.nan)
    weights[range(9), [0, 1, 1, 3, 3, 3, 3, 3, 3]] = 0.5
    (head,) = measure_heads("decoder", weights[None, None], keys)
    assert pattern_facts([head])["counts"][Pattern.PUNCTUATION] == [[8, 8]]


def test_how_often_a_head_has_its_label_is_what_the_file_beside_the_weights_counts():
    roles = load_roles(CHECKPOINT / "heads.json", translator().model)
    written = json.loads((CHECKPOINT / "heads.json").read_text())
    counted = 0
    for head, _ in every_head():
        (found,) = pattern_facts([head], roles)["labelled"]
        assert (found is None) == (head.label is None) and pattern_facts([head])["labelled"] == [None]
        if found is not None:
            assert found == written["labelled"][head.kind][head.layer][head.head].get(head.label, 0)
            counted += 1
    assert counted > 300 and roles.sentences == written["sentences"]
