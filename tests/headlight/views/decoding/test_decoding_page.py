"""The decoding page through Streamlit's test runner, with the shipped checkpoint."""

import dataclasses

import numpy as np
import pytest
from support.pages import fact_array, open_page, page_text, payload

from headlight.views.decoding.content import hardest_step
from transformer import Beam

PAGE = "pages/decoding.py"
SENTENCE = "I love my teacher."


def facts_of(app) -> dict:
    """Return the facts that the player receives."""
    return payload(app)["facts"]


@pytest.mark.parametrize(("step", "at"), [("2", 2), ("99", 0), ("0", 1)])
def test_the_candidates_are_those_of_the_step_in_the_address(step, at, shipped):
    cut = {"draw_temperature": "2.0", "draw_topk": "5", "draw_topp": "0.9"}
    app = open_page(PAGE, decoding_view="candidates", step=step, **cut)
    text, steps = page_text(app), len(shipped.trace(SENTENCE).target_ids)
    assert f"of {len(shipped.tokenizer):,} tokens may be drawn" in text and "at temperature 2" in text
    assert f"Step {at or steps} of {steps}: after “⟨start⟩" in text
    assert len(app.get("plotly_chart")) == 1


def test_the_player_receives_the_trace(shipped):
    trace, facts = shipped.trace(SENTENCE), facts_of(open_page(PAGE))
    for name in ("source_ids", "source_tokens", "decoder_input_tokens", "target_ids", "target_tokens"):
        assert tuple(facts[name]) == getattr(trace, name)
    for name in ("target_probabilities", "entropies", "cross", "decoder"):
        np.testing.assert_array_equal(fact_array(facts[name]), getattr(trace, name))
    np.testing.assert_array_equal(facts["candidate_ids"], trace.candidate_ids.ravel())
    np.testing.assert_array_equal(fact_array(facts["candidate_probabilities"]), trace.candidate_probabilities.ravel())
    assert (facts["forced"], facts["finished"]) == (0, True)


def test_the_player_begins_at_the_highest_entropy_of_the_free_steps(shipped):
    trace = shipped.trace(SENTENCE)
    entropies = np.array([9.0] + [0.1] * (len(trace.entropies) - 2) + [2])
    assert hardest_step(dataclasses.replace(trace, num_forced=1, entropies=entropies)) == len(entropies) - 1


def test_pieces_of_the_address_begin_the_translation_of_their_sentence_alone(shipped):
    trace = shipped.trace(SENTENCE)
    prefix = (*trace.target_ids[:2], int(trace.candidate_ids[2, 1]))
    app = open_page(PAGE, prefix=".".join(map(str, prefix)))
    facts, other = facts_of(app), shipped.trace(SENTENCE, prefix=prefix)
    assert (facts["target_tokens"], facts["target_text"]) == (list(other.target_tokens), other.target_text)
    assert (facts["forced"], facts["unforced"]) == (3, trace.target_text)
    app.text_input(key="text").input("Where is my cat?").run()
    facts = facts_of(app)
    assert facts["forced"] == 0 and facts["target_tokens"] == list(shipped.trace("Where is my cat?").target_tokens)


@pytest.mark.parametrize("prefix", ["99999999", "evil", "1.2.", "0", "3.5", ".".join(["5"] * 150)])
def test_pieces_that_cannot_begin_a_translation_get_a_message(prefix, shipped):
    app = open_page(PAGE, prefix=prefix)
    assert "cannot begin a translation" in page_text(app)
    assert facts_of(app)["target_tokens"] == list(shipped.trace(SENTENCE).target_tokens)


def test_every_hypothesis_of_a_beam_can_be_stepped_through(shipped):
    hypotheses = shipped.hypotheses(SENTENCE, Beam(size=4, alpha=0.6))
    for rank, one in enumerate(hypotheses, start=1):
        app = open_page(PAGE, decoding="beam", beam="4", hypothesis=str(rank))
        assert facts_of(app)["target_tokens"] == [shipped.tokenizer.piece_text(id) for id in one.ids]
