"""The decoding page through Streamlit's test runner, with the shipped checkpoint."""

import json

import pytest
from support.pages import components, open_page, page_text

from headlight.app import results
from headlight.app.results import TranslationRequest
from transformer import Beam

PAGE = "pages/decoding.py"
SENTENCE = "I love my teacher."


def shown(app) -> dict:
    """The player's data: facts, layer, head and step."""
    return json.loads(components(app)[0].proto.json)


def tokens(app) -> list[str]:
    return shown(app)["facts"]["target_tokens"]


def head_of(app) -> tuple[int | None, int | None]:
    given = shown(app)
    return given["layer"], given["head"]


def test_the_player_gets_every_step_of_the_translation(shipped):
    app = open_page(PAGE, step="3")
    trace = shipped.trace(SENTENCE)
    given = shown(app)
    assert given["step"] == 3
    assert given["facts"]["target_tokens"] == list(trace.target_tokens)
    assert given["facts"]["target_ranks"] == [1] * len(trace.target_ids)
    assert not given["autoplay"]


@pytest.mark.parametrize("step", ["", "evil", "²", "<b>", "9" * 5000])
def test_without_a_step_it_opens_at_the_hardest_one(step, shipped):
    hardest = int(shipped.trace(SENTENCE).entropies.argmax())
    given = shown(open_page(PAGE, step=step))
    assert given["step"] == hardest + 1 and given["autoplay"] == (not step)


@pytest.mark.parametrize("step, at", [("2", 2), ("99", 6), ("0", 1)])
def test_the_candidates_are_those_of_the_players_step(step, at):
    cut = {"draw_temperature": "2.0", "draw_topk": "5", "draw_topp": "0.9"}
    app = open_page(PAGE, decoding_view="candidates", step=step, **cut)
    text = page_text(app)
    assert "of 12,000 tokens may be drawn" in text and "at temperature 2" in text
    assert f"Step {at} of 6: after ⟨start⟩" in text
    assert len(app.get("plotly_chart")) == 2


@pytest.mark.parametrize("value", ["inf", "-1", "x", "9" * 4000])
def test_settings_that_make_no_sense_are_ignored(value):
    settings = dict.fromkeys(("step", "draw_temperature", "draw_topk", "draw_topp"), value)
    assert not open_page(PAGE, decoding_view="candidates", **settings).exception


def test_pieces_taken_in_the_address_begin_the_translation(shipped):
    trace = shipped.trace(SENTENCE)
    prefix = (*trace.target_ids[:2], int(trace.candidate_ids[2, 1]))
    app = open_page(PAGE, prefix=".".join(map(str, prefix)))
    facts, other = shown(app)["facts"], shipped.trace(SENTENCE, prefix=prefix)
    assert (facts["target_tokens"], facts["target_text"]) == (list(other.target_tokens), other.target_text)
    assert (facts["forced"], facts["unforced"]) == (3, trace.target_text)
    assert shown(open_page(PAGE))["facts"]["forced"] == 0


@pytest.mark.parametrize("query", [{}, {"decoding": "beam", "beam": "3"}])
def test_a_forced_token_does_not_move_the_shown_head(query, shipped, monkeypatch, request):
    monkeypatch.setattr(results, "roles", lambda _: None)  # as of a checkpoint whose heads were not measured
    request.addfinalizer(results.default_head.clear)
    results.default_head.clear()
    text, moved = "He bought a ticket at the train station.", 0
    own, trace = head_of(open_page(PAGE, text=text, **query)), shipped.trace(text)
    for other in trace.candidate_ids[0, 1:5].tolist():
        assert head_of(open_page(PAGE, text=text, prefix=str(other), **query)) == own
        forced = TranslationRequest(results.checkpoint("en-de"), text, prefix=(other,))
        moved += results.default_head(forced, "cross") != own
    assert moved, "by itself such a translation would have another head"


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
    found = shipped.hypotheses(SENTENCE, Beam(size=4, alpha=0.6))
    for rank, one in enumerate(found, start=1):
        app = open_page(PAGE, decoding="beam", beam="4", hypothesis=str(rank))
        assert tokens(app) == [shipped.tokenizer.piece_text(id) for id in one.ids]


@pytest.mark.parametrize("hypothesis", ["0", "9", "evil", "-1", ""])
def test_a_hypothesis_that_there_is_not_is_the_best(hypothesis, shipped):
    app = open_page(PAGE, decoding="beam", beam="3", hypothesis=hypothesis)
    best = shipped.hypotheses(SENTENCE, Beam(3))[0]
    assert tokens(app) == [shipped.tokenizer.piece_text(id) for id in best.ids]


@pytest.mark.parametrize("text, message", [("", "is empty"), ("word " * 500, "at most 127")])
def test_what_cannot_be_translated_gets_a_message(text, message):
    app = open_page(PAGE)
    app.text_input(key="text").input(text).run()
    assert not app.exception
    assert message in page_text(app)


def test_a_head_or_an_average_is_shown(shipped):
    assert head_of(open_page(PAGE, head="cross.2.5")) == (1, 4)
    assert head_of(open_page(PAGE, head="cross.all.all")) == (None, None)
    request = TranslationRequest(results.checkpoint("en-de"), SENTENCE)
    assert head_of(open_page(PAGE)) == results.default_head(request, "cross")
