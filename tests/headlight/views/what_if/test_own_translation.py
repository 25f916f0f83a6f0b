"""A translation of the reader's own: what the model gives its tokens, in the table, the figure and the address."""

import json

import numpy as np
import pytest
from support.pages import components, numbers, open_page, page_text, specs
from support.traces import loaded, trace_of

from headlight.app import results
from headlight.app.results import what_if
from transformer import Beam
from transformer.decoding.sampling import Hypothesis

PAGE, VIEW = "pages/what_if.py", "your translation"
TEXT, OWN = "I love my teacher.", "Ich mag meine Lehrerin."


def sent(app) -> dict:
    return json.loads(components(app)[0].proto.json)


def test_the_table_and_the_figure_hold_what_the_model_gives_the_translation_of_the_address():
    app = open_page(PAGE, what_if=VIEW, text=TEXT, own_target=OWN)
    forced, model = loaded("en-de").trace(TEXT, target=OWN), trace_of("en-de", TEXT)
    facts = sent(app)
    assert facts["yours"]["target_tokens"] == list(forced.target_tokens)
    assert facts["yours"]["target_ranks"] == forced.target_ranks.tolist()
    assert facts["model"]["target_tokens"] == list(model.target_tokens)
    (spec,) = specs(app)
    np.testing.assert_allclose(
        numbers(spec["data"][0]["y"])[1:], np.log(forced.target_probabilities).cumsum(), atol=1e-5
    )
    assert numbers(spec["data"][1]["y"])[-1] == pytest.approx(np.log(model.target_probabilities).sum(), abs=1e-4)


def test_all_maps_of_the_translation_are_those_of_its_own_pass():
    app = open_page(PAGE, what_if=VIEW, text=TEXT, own_target=OWN)
    assert len(components(app)) == 1, "no head is measured before the maps are opened"
    app.session_state["own_maps"] = True
    app.run()
    _, _, explorer = components(app)
    blob = explorer.proto.bytes
    header = json.loads(blob[4 : 4 + int.from_bytes(blob[:4], "little")])
    forced = loaded("en-de").trace(TEXT, target=OWN)
    assert header["decoder_input_tokens"] == list(forced.decoder_input_tokens)


def test_it_begins_with_the_second_best_of_a_beam_and_keeps_what_is_written_with_its_sentence():
    app = open_page(PAGE, what_if=VIEW, text=TEXT)
    written = loaded("en-de")
    translations = [written.tokenizer.decode(each.ids) for each in written.hypotheses(TEXT, Beam(4))]
    field = app.text_input(key="own_target_line")
    assert field.value == next(each for each in translations if each != trace_of("en-de", TEXT).target_text)
    field.set_value(OWN).run()
    assert app.query_params["own_target"] == OWN and "▁Lehrer" in sent(app)["yours"]["target_tokens"]
    app.text_input(key="text").set_value("She reads a book.").run()
    assert "own_target" not in app.query_params, "it was a translation of another sentence"
    assert app.text_input(key="own_target_line").value not in (OWN, "")


def test_what_a_model_wrote_without_end_is_given_as_far_as_it_can_be_fed(monkeypatch):
    choice = results.TranslationRequest(results.checkpoint("en-de"), TEXT)
    endless = results.translator(choice.checkpoint).tokenizer.encode_target("Haus " * 400)
    monkeypatch.setattr(what_if, "hypotheses", lambda request: [Hypothesis(tuple(endless), 0.0, 0.0, False)])
    text = what_if.second_best(choice)
    assert text.startswith("Haus Haus") and len(text) < 5 * 400
    assert what_if.given_trace(choice, text).target_tokens[0] == "▁Haus"


@pytest.mark.parametrize(
    "written, message",
    [("   ", "is empty"), ("x" * 99999, "at most"), ("Ich 🍕 dich.", "for 1 part"), ("漢 a 字", "for 2 parts")],
)
def test_what_cannot_be_read_is_said_in_a_sentence(written, message):
    app = open_page(PAGE, what_if=VIEW, text=TEXT, own_target=written)
    assert not app.error and message in page_text(app)
    assert app.text_input(key="own_target_line").value == written, "the field stays, so that it can be mended"
