"""Home: the translation at once, the facts of hidden words, and ways to go on."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from support.pages import components, fact_array, open_page

from headlight.views.home.content import cards_of, cells_in_words
from transformer import Translator
from transformer.files import shipped_checkpoints
from transformer.interpret.trace import attention_map

HOME = "pages/home.py"
HUNGRY = "The dog is hungry because it has not eaten."
# What a card asks about, as its right answer stands in the translation.
RIGHT = {
    "I think that he has never read this book.": r"gelesen hat\.$",
    "The cat is hungry because it has not eaten.": r"Katze .*\bsie\b",
    "The dog is hungry because it has not eaten.": r"Hund .*\ber\b",
    "The child is hungry because it has not eaten.": r"Kind .*\bes\b",
    "I am waiting at the bus stop.": r"\bBushaltestelle\b",
    "He sat on the bank of the river.": r"\bBank\b",  # wrong: a bench
    "The red car is very fast.": r"voiture rouge",
    "He does not speak French.": r"\bne parle pas\b",
    "I see them every day.": r"Je les vois",
    "We won the match.": r"le match",
    "He lit a match.": r"une allumette",
}


def lines_of(app) -> dict:
    (lines,) = (each for each in components(app) if each.proto.component_name == "token_lines_lines")
    return json.loads(lines.proto.json)


def facts_of(app) -> dict:
    return lines_of(app)["facts"]


def test_the_home_shows_the_translation_and_the_weights_of_one_head(shipped):
    lines, trace = lines_of(open_page(HOME)), shipped.trace("I love my teacher.")
    facts = lines["facts"]
    for name in ("source_tokens", "decoder_input_tokens", "target_tokens"):
        assert tuple(facts[name]) == getattr(trace, name)
    assert facts["target_text"] == trace.target_text and facts["target_ranks"] == trace.target_ranks.tolist()
    np.testing.assert_array_equal(fact_array(facts["target_probabilities"]), trace.target_probabilities)
    head = trace.cross[lines["layer"], lines["head"]]
    np.testing.assert_array_equal(fact_array(facts["shown_cross"]), head)
    assert (lines["rows"], lines["layout"], facts["head_counts"]) == ("predicted", "alone", list(trace.cross.shape[:2]))
    assert facts["hidden"] == [] and facts["unhidden_tokens"] == list(trace.target_tokens)


@pytest.mark.parametrize(("name", "language"), [("en-de", "German"), ("en-fr", "French")])
def test_every_card_shows_what_it_asks_about(name, language):
    sentences = [sentence for card in cards_of("English", language, ()) for sentence in card.sentences.values()]
    translations = Translator.load(shipped_checkpoints() / name, "cpu").translate(sentences)
    for sentence, translation in zip(sentences, translations, strict=True):
        assert re.search(RIGHT[sentence], translation), translation


def test_a_model_without_cards_offers_sentences_of_its_training_replay():
    app = open_page(HOME, checkpoint="reverse")
    buttons = [button for button in app.button if button.key.startswith("card_")]
    assert len(buttons) == 3 and all("English" not in button.label for button in buttons)


def test_hidden_words_are_those_of_the_address_and_the_translation_is_made_without_them(shipped):
    facts, trace = facts_of(open_page(HOME, text=HUNGRY, hidden="8")), shipped.trace(HUNGRY)
    assert facts["hidden"] == [7] and facts["unhidden_tokens"] == list(trace.target_tokens)
    words = range(len(trace.source_tokens) - 1)
    without = shipped.trace(HUNGRY, interventions=["forbid:cross.*.*:7"])
    assert facts["target_tokens"] == list(without.target_tokens)
    assert facts["target_text"] == without.target_text
    everything = facts_of(open_page(HOME, text=HUNGRY, hidden=".".join(str(key + 1) for key in words)))
    assert everything["hidden"] == list(words)


@pytest.mark.parametrize(("hidden", "shown"), [("8.99", [7]), ("x", []), ("8.8", [7]), ("9" * 30, [])])
def test_hidden_words_that_the_sentence_does_not_have_are_ignored(hidden, shown):
    assert facts_of(open_page(HOME, text=HUNGRY, hidden=hidden))["hidden"] == shown


def test_the_map_shows_the_head_of_the_lines_and_the_tokens_below(shipped):
    app = open_page(HOME, head="cross.2.5")
    lines, plainest = lines_of(app), lines_of(open_page(HOME))
    assert not app.get("plotly_chart"), "without the map"
    assert (lines["layer"], lines["head"]) == (plainest["layer"], plainest["head"]) != (1, 4)
    app.toggle(key="map").set_value(True).run()
    assert app.query_params["map"] == "1" and len(app.get("plotly_chart")) == 1
    hover = cells_in_words(attention_map(trace := shipped.trace("I love my teacher."), "cross", 1, 4, "predicted"))
    assert json.loads(app.get("plotly_chart")[0].proto.spec)["data"][0]["hovertext"] == hover
    np.testing.assert_array_equal(fact_array(facts_of(app)["shown_cross"]), trace.cross[1, 4])
    assert (lines_of(app)["layer"], lines_of(app)["head"], lines_of(app)["layout"]) == (1, 4, "beside map")
    chips = "".join(element.proto.body for element in app.get("html"))
    assert all(f"id {id_}" in chips for id_ in trace.source_ids)


def test_a_cell_is_read_in_plain_words_and_tokens_stay_text(shipped):
    shown = attention_map(shipped.trace("I love my teacher."), "cross", 1, 4, "predicted")
    first, *others = cells_in_words(replace(shown, keys=("<b>", *shown.keys[1:])))[0]
    assert re.fullmatch(r"“Ich” looks at “&lt;b&gt;”: <b>(over )?\d+ %</b>", first)
    assert "⟨end⟩" in others[-1] and "▁" not in "".join(others)
