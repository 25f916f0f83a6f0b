"""Facts of the decoding player: the model's own numbers."""

import dataclasses
import json

import numpy as np
import pytest
from support.pages import fact_array

from headlight.views.decoding.content import decoding_facts, hardest_step
from transformer.interpret.trace import attention_map


@pytest.fixture(scope="module")
def trace(translator):
    return translator.trace("red dog", target="rot Hund Haus")


def facts_of(trace, layer=None, head=None) -> dict:
    maps = attention_map(trace, "cross", layer, head), attention_map(trace, "decoder", layer, head)
    return json.loads(json.dumps(decoding_facts(trace, *maps, 1, "unforced")))


def test_a_trace_travels_whole(trace):
    facts = facts_of(trace)
    for name in ("source_ids", "source_tokens", "decoder_input_tokens", "target_ids", "target_tokens"):
        assert tuple(facts[name]) == getattr(trace, name)
    for name in ("target_probabilities", "entropies"):
        np.testing.assert_array_equal(fact_array(facts[name]), getattr(trace, name))
    np.testing.assert_array_equal(facts["candidate_ids"], trace.candidate_ids.ravel())
    np.testing.assert_array_equal(fact_array(facts["candidate_probabilities"]), trace.candidate_probabilities.ravel())
    for kind in ("cross", "decoder"):
        np.testing.assert_array_equal(fact_array(facts[kind]), trace.attention(kind))
    assert (facts["forced"], facts["unforced"], facts["finished"]) == (1, "unforced", True)


def test_it_opens_at_the_highest_entropy_of_what_was_open_to_choice(trace):
    entropies = np.array([9.0] + [0.1] * (len(trace.entropies) - 2) + [2])
    forced = dataclasses.replace(trace, num_forced=1, entropies=entropies)
    assert hardest_step(forced) == len(entropies) - 1
