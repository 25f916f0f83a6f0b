"""What the token lines are given: the trace's own numbers, with its tokens as they are."""

import json

import numpy as np
import pytest
from support.made import FED, NEXT, SOURCE, made_map, made_trace

from headlight.views.home.lines_content import LINES_APART, lines_payload, short_chance
from transformer.interpret.head_patterns import word_ranges
from transformer.interpret.trace import attention_map


@pytest.mark.parametrize(("layer", "head"), [(0, 0), (2, 4), (1, None), (None, 6), (None, None)])
def test_weights_and_probabilities_are_those_of_the_trace_to_the_last_digit(shipped, layer, head):
    trace = shipped.trace("I think that he has never read this book.")
    shown = attention_map(trace, "cross", layer, head, "both")
    given = json.loads(json.dumps(lines_payload(trace, shown), allow_nan=False))
    chosen = trace.cross if layer is None else trace.cross[layer : layer + 1]
    expected = (chosen if head is None else chosen[:, head : head + 1]).astype(np.float64).mean(axis=(0, 1))
    weights = np.array(given["weights"], dtype=np.float32)
    assert weights.shape == (len(given["outputs"]), len(given["source"]))
    if layer is None or head is None:
        np.testing.assert_allclose(weights, expected, atol=1e-5)
    else:
        np.testing.assert_array_equal(weights, trace.cross[layer, head])
    np.testing.assert_array_equal(np.array(given["probabilities"], dtype=np.float32), trace.target_probabilities)
    assert given["ranks"] == [int(rank) for rank in trace.target_ranks]
    assert (given["source"], given["outputs"]) == (list(trace.source_tokens), list(trace.target_tokens))
    assert (given["below"], given["inputs"]) == ("output", list(trace.decoder_input_tokens))


def test_a_made_sentence_is_given_as_it_is():
    weights = [[0.1, 0.5, 0.2, 0.1, 0.1], [0.1, 0.1, 0.3, 0.4, 0.1], [0.0, 0.9, 0.0, 0.1, 0.0]]
    for row_label, below, inputs in (("fed", FED, None), ("predicted", NEXT, None), ("both", NEXT, list(FED))):
        given = lines_payload(made_trace(), made_map(weights, row_label=row_label), 180)
        assert (given["source"], given["outputs"], given["apart"]) == (list(SOURCE), list(below), 180)
        assert (given["below"], given["inputs"]) == ("input" if row_label == "fed" else "output", inputs)
        assert given["output_words"] == [[each.start, each.stop] for each in word_ranges(below)]
        assert given["weights"] == weights, "0.1 travels as 0.1"
        assert given["chances"] == ["90.0 %", "25.0 %", "60.0 %"] and given["short_chances"] == ["90 %", "25 %", "60 %"]
        assert given["name"] == "layer 2, head 1"
    assert lines_payload(made_trace(), made_map(weights))["apart"] == LINES_APART


def test_a_probability_is_never_rounded_to_all_or_to_nothing():
    probabilities = (0.0, 0.0099, 0.01, 0.3949, 0.994, 0.995, 1)
    assert [short_chance(each) for each in probabilities] == ["< 1 %", "< 1 %", "1 %", "39 %", "99 %", *["> 99 %"] * 2]
