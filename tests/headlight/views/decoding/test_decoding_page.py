"""The decoding page through Streamlit's test runner, with the shipped checkpoint."""

import json

import pytest
from support.pages import components, open_page, page_text

from transformer import Beam

PAGE = "pages/decoding.py"
SENTENCE = "I love my teacher."


def shown(app) -> dict:
    """The player's data: facts, layer, head and step."""
    return json.loads(components(app)[0].proto.json)


def tokens(app) -> list[str]:
    return shown(app)["facts"]["target_tokens"]


@pytest.mark.parametrize("step, at", [("2", 2), ("99", 6), ("0", 1)])
def test_the_candidates_are_those_of_the_players_step(step, at):
    cut = {"draw_temperature": "2.0", "draw_topk": "5", "draw_topp": "0.9"}
    app = open_page(PAGE, decoding_view="candidates", step=step, **cut)
    text = page_text(app)
    assert "of 12,000 tokens may be drawn" in text and "at temperature 2" in text
    assert f"Step {at} of 6: after ⟨start⟩" in text
    assert len(app.get("plotly_chart")) == 2


def test_pieces_taken_in_the_address_begin_the_translation(shipped):
    trace = shipped.trace(SENTENCE)
    prefix = (*trace.target_ids[:2], int(trace.candidate_ids[2, 1]))
    app = open_page(PAGE, prefix=".".join(map(str, prefix)))
    facts, other = shown(app)["facts"], shipped.trace(SENTENCE, prefix=prefix)
    assert (facts["target_tokens"], facts["target_text"]) == (list(other.target_tokens), other.target_text)
    assert (facts["forced"], facts["unforced"]) == (3, trace.target_text)
    assert shown(open_page(PAGE))["facts"]["forced"] == 0


@pytest.mark.parametrize(
    "prefix", ["99999999", "evil", "1.2.3.", "0", "2", "3.5", "-4", "9.9e9", ".".join(["5"] * 150)]
)
def test_pieces_that_the_model_has_not_get_a_message(prefix, shipped):
    app = open_page(PAGE, prefix=prefix)
    assert "cannot begin a translation" in page_text(app)
    assert tokens(app) == list(shipped.trace(SENTENCE).target_tokens)


def test_taken_pieces_are_dropped_with_their_sentence(shipped):
    trace = shipped.trace(SENTENCE)
    app = open_page(PAGE, prefix=str(int(trace.candidate_ids[0, 1])))
    assert shown(app)["facts"]["forced"] == 1
    app.text_input(key="text").input("Where is my cat?").run()
    assert tokens(app) == list(shipped.trace("Where is my cat?").target_tokens)


def test_every_hypothesis_of_a_beam_can_be_stepped_through(shipped):
    hypotheses = shipped.hypotheses(SENTENCE, Beam(size=4, alpha=0.6))
    for rank, one in enumerate(hypotheses, start=1):
        app = open_page(PAGE, decoding="beam", beam="4", hypothesis=str(rank))
        assert tokens(app) == [shipped.tokenizer.piece_text(id) for id in one.ids]
