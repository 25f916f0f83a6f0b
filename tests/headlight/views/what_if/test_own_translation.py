"""A translation of the visitor: its probabilities in table and figure, its maps, and its address."""

import numpy as np
import pytest
from support.pages import components, numbers, open_page, page_text, payload, specs, unpack_facts
from support.traces import loaded, trace_of

from headlight.app import results
from headlight.app.results import what_if
from transformer import Beam
from transformer.decoding.sampling import Hypothesis

PAGE, VIEW = "pages/what_if.py", "your translation"
TEXT, OWN = "I love my teacher.", "Ich mag meine Lehrerin."


def test_table_figure_and_maps_are_those_of_the_translation_of_the_address():
    app = open_page(PAGE, what_if=VIEW, text=TEXT, own_target=OWN)
    forced, model = loaded("en-de").trace(TEXT, target=OWN), trace_of("en-de", TEXT)
    facts = payload(app)
    assert facts["yours"]["target_tokens"] == list(forced.target_tokens)
    assert facts["yours"]["target_ranks"] == forced.target_ranks.tolist()
    assert facts["model"]["target_tokens"] == list(model.target_tokens)
    yours, of_model = (numbers(line["y"]) for line in specs(app)[0]["data"][:2])
    np.testing.assert_allclose(yours[1:], np.log(forced.target_probabilities).cumsum(), atol=1e-5)
    assert of_model[-1] == pytest.approx(np.log(model.target_probabilities).sum(), abs=1e-4)
    assert len(components(app)) == 1, "no head is measured before the maps are opened"
    app.session_state["own_maps"] = True
    explored, _ = unpack_facts(components(app.run())[2].proto.bytes)
    assert explored["decoder_input_tokens"] == list(forced.decoder_input_tokens)


def test_it_begins_with_the_second_best_of_a_beam_and_keeps_what_is_written_with_its_sentence():
    app = open_page(PAGE, what_if=VIEW, text=TEXT)
    written = loaded("en-de")
    translations = [written.tokenizer.decode(each.ids) for each in written.hypotheses(TEXT, Beam(4))]
    field = app.text_input(key="own_target_line")
    assert field.value == next(each for each in translations if each != trace_of("en-de", TEXT).target_text)
    field.set_value(OWN).run()
    assert app.query_params["own_target"] == OWN
    assert payload(app)["yours"]["target_tokens"] == list(written.trace(TEXT, target=OWN).target_tokens)
    app.text_input(key="text").set_value("She reads a book.").run()
    assert "own_target" not in app.query_params, "it was a translation of another sentence"
    assert app.text_input(key="own_target_line").value not in (OWN, "")


def test_a_translation_without_end_is_cut_at_the_length_limit(monkeypatch):
    choice = results.TranslationRequest(results.checkpoint("en-de"), TEXT)
    endless = results.translator(choice.checkpoint).tokenizer.encode_target("Haus " * 400)
    monkeypatch.setattr(what_if, "hypotheses", lambda request: [Hypothesis(tuple(endless), 0.0, 0.0, False)])
    text = what_if.second_best(choice)
    assert text.startswith("Haus Haus") and len(text) < 5 * 400
    assert what_if.given_trace(choice, text).target_ids[0] == endless[0]


@pytest.mark.parametrize(
    "written, message",
    [("   ", "is empty"), ("x" * 99999, "at most"), ("漢 a 字", "for 2 parts")],
)
def test_a_translation_that_cannot_be_read_gets_a_message_and_stays(written, message):
    app = open_page(PAGE, what_if=VIEW, text=TEXT, own_target=written)
    assert not app.error and message in page_text(app)
    assert app.text_input(key="own_target_line").value == written
