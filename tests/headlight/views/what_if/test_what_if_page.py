"""Switched-off heads and a translation of the visitor: facts, numbers on the page, and addresses."""

import numpy as np
import pytest
from support.pages import components, fact_array, numbers, open_page, page_text, payload, specs, unpack_facts
from support.traces import loaded, trace_of

from headlight.app import results
from headlight.views.what_if import ablation
from headlight.views.what_if.facts import importance_facts
from headlight.views.what_if.own_translation import second_best
from transformer import Beam
from transformer.decoding.sampling import Hypothesis
from transformer.interpret.study import Study
from transformer.interpret.what_if.importance import HeadImportance, HeadLosses
from transformer.model.heads import Head

PAGE = "pages/what_if.py"
TEXT, OWN = "I love my teacher.", "Ich mag meine Lehrerin."


def importance(turned=()):
    """Of a model with 2 encoder layers, 1 decoder layer, 3 heads; a translation of three tokens."""
    shapes = {"encoder": (2, 3), "decoder": (1, 3), "cross": (1, 3)}
    losses = {kind: np.zeros((*shape, 3)) for kind, shape in shapes.items()}
    losses["cross"][0, 1], losses["encoder"][1, 2], losses["decoder"][0, 0] = [0.5, 1, 0], [0.2, 0.1, 0], [-0.3, 0, 0]
    turns = {kind: np.zeros(shape, dtype=bool) for kind, shape in shapes.items()}
    for kind, layer, head in turned:
        turns[kind][layer, head] = True
    return HeadImportance(**losses, log_probabilities=np.array([-0.1, -0.2, 0]), turned=turns)


def test_it_begins_with_the_head_that_turns_the_translation_else_with_the_greatest_loss():
    heads, losses = [Head("cross", 0, head) for head in range(3)], np.array([[0.5, 1, 0], [0, 0.1, 0], [0.3, 0, 0]])
    for turned, first in ([False] * 3, 0), ([False, True, True], 2):
        assert HeadLosses(heads, losses, np.array(turned), np.zeros(3)).default_head() == heads[first]


@pytest.mark.parametrize("off, before", [("", {"cross"}), ("encoder.1.2", set())])
def test_the_outcome_stands_there_before_the_other_heads_are_measured(monkeypatch, off, before):
    done, measure, table = [], Study.head_losses, ablation.translation_table
    monkeypatch.setattr(Study, "head_losses", lambda study, by, kind: done.append(kind) or measure(study, by, kind))
    monkeypatch.setattr(ablation, "translation_table", lambda *facts: done.append("outcome") or table(*facts))
    assert payload(open_page(PAGE, off=off), 1)["change"]
    outcome = done.index("outcome")
    assert set(done[:outcome]) == before and {"encoder", "decoder", "cross"} <= set(done[outcome:])


def test_each_head_is_sent_with_the_loss_of_each_token():
    facts = {(one["kind"], one["layer"], one["head"]): one for one in importance_facts(importance([("decoder", 0, 2)]))}
    assert len(facts) == 12 and facts["cross", 0, 1]["losses"] == [0.5, 1, 0]
    assert [head for head, one in facts.items() if one["turned"]] == [("decoder", 0, 2)]


@pytest.mark.parametrize("ablated_by", ["zero", "mean", "uniform"])
def test_the_view_switches_off_the_heads_of_the_address(ablated_by):
    app = open_page(PAGE, off="cross.3.4-encoder.9.9-encoder.1.2", ablated_by=ablated_by)
    switches, table = payload(app), payload(app, 1)
    assert switches["off"] == "cross.3.4-encoder.1.2" and switches["ablation"] == ablated_by
    heads = {"kind": "cross", "layer": 2, "head": 3}, {"kind": "encoder", "layer": 0, "head": 1}
    assert table["change"] == {"off": list(heads)}
    forced, before = (fact_array(table[run]["target_probabilities"]) for run in ("forced", "before"))
    lost = {(one["kind"], one["layer"], one["head"]): one["losses"] for one in switches["importance"]}
    assert len(before) == len(forced) == len(lost["cross", 2, 3]) and (before != forced).any()
    sides = [len(table["before"][side]) for side in ("target_ids", "source_ids")]
    assert table["before"]["reads"]["shape"] == sides


def test_with_all_heads_on_nothing_is_compared():
    assert payload(open_page(PAGE, off="none"), 1).keys() == {"before", "importance"}


def open_own(**query: str):
    return open_page(PAGE, what_if="your translation", text=TEXT, **query)


def test_table_figure_and_maps_are_those_of_the_translation_of_the_address():
    app = open_own(own_target=OWN)
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
    app = open_own()
    written = loaded("en-de")
    translations = [written.tokenizer.decode(each.ids) for each in written.hypotheses(TEXT, Beam(4))]
    field = app.text_input(key="own_target")
    assert field.value == next(each for each in translations if each != trace_of("en-de", TEXT).target_text)
    field.set_value(OWN).run()
    assert app.query_params["own_target"] == OWN
    assert payload(app)["yours"]["target_tokens"] == list(written.trace(TEXT, target=OWN).target_tokens)
    app.text_input(key="text").set_value("She reads a book.").run()
    assert "own_target" not in app.query_params, "it was a translation of another sentence"
    assert app.text_input(key="own_target").value not in (OWN, "")


def test_a_translation_without_end_is_cut_at_the_length_limit(monkeypatch):
    choice = results.TranslationRequest(results.checkpoint("en-de"), TEXT)
    endless = results.translator(choice.checkpoint).tokenizer.encode_target("Haus " * 400)
    monkeypatch.setattr(Study, "hypotheses", lambda _: [Hypothesis(tuple(endless), 0.0, 0.0, False)])
    text = second_best(choice)
    assert text.startswith("Haus Haus") and len(text) < 5 * 400
    assert results.study(choice).with_target(text).trace.target_ids[0] == endless[0]


@pytest.mark.parametrize(
    "written, message",
    [("   ", "is empty"), ("x" * 99999, "at most"), ("漢 a 字", "for 2 parts")],
)
def test_a_translation_that_cannot_be_read_gets_a_message_and_stays(written, message):
    app = open_own(own_target=written)
    assert not app.error and message in page_text(app)
    assert app.text_input(key="own_target").value == written
