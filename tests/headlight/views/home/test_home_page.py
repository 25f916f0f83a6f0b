"""The home: the translation at once, what becomes of it without a word, and where to go on."""

import json
import re

import numpy as np
import pytest
from support.pages import components, open_page
from support.replayed import replayed

from headlight.lessons.panel import WAYS
from headlight.views.home.content import CARDS, changed_outputs, describe_hidden
from transformer import Translator
from transformer.files import shipped_checkpoints
from transformer.interpret.head_patterns import word_ranges

HOME = "pages/home.py"
HUNGRY = "The dog is hungry because it has not eaten."
# What a card asks about, as its right answer stands in the translation.
RIGHT = {
    "I think that he has never read this book.": r"gelesen hat\.$",
    "The cat is hungry because it has not eaten.": r"Katze .*\bsie\b",
    "The dog is hungry because it has not eaten.": r"Hund .*\ber\b",
    "The child is hungry because it has not eaten.": r"Kind .*\bes\b",
    "I am waiting at the bus stop.": r"\bBushaltestelle\b",
    "The red car is very fast.": r"voiture rouge",
    "He does not speak French.": r"\bne parle pas\b",
    "I see them every day.": r"Je les vois",
}


def sent(app) -> dict:
    (lines,) = components(app)
    return json.loads(lines.proto.json)


def test_the_home_shows_the_translation_and_the_weights_of_one_head(shipped):
    shown, trace = sent(open_page(HOME)), replayed(shipped, "I love my teacher.")
    assert shown["source"] == list(trace.source_tokens) and shown["outputs"] == list(trace.target_tokens)
    assert any(
        np.array_equal(np.float32(shown["weights"]), head)
        for layer in trace.cross
        for head in layer
        if head.max(axis=1).mean() > 0.7
    ), "the weights are one head's own, and of one that shows something"
    assert shown["hidden"] == [] == shown["changed"] and "Click a word" in shown["headline"]


@pytest.mark.parametrize("pair", CARDS)
def test_every_card_shows_what_it_asks_about(pair):
    name = {"German": "en-de", "French": "en-fr"}[pair[1]]
    sentences = [sentence for card in CARDS[pair] for sentence in card.sentences.values()]
    translations = Translator.load(shipped_checkpoints() / name, "cpu").translate(sentences)
    for sentence, translation in zip(sentences, translations, strict=True):
        assert re.search(RIGHT[sentence], translation), translation


def test_a_card_puts_its_sentence_into_the_field_and_shows_it(shipped):
    app = open_page(HOME, hidden="2")
    app.button(key="card_1_The dog").click().run()
    assert app.text_input(key="text").value == HUNGRY
    assert sent(app)["source"] == list(shipped.trace(HUNGRY).source_tokens) and sent(app)["hidden"] == []
    assert not app.query_params.get("hidden")


def test_a_model_without_cards_offers_sentences_of_its_training_replay():
    app = open_page(HOME, checkpoint="reverse")
    asked = [button for button in app.button if button.key.startswith("card_")]
    assert len(asked) == 3 and all("English" not in button.label for button in asked)


def test_hidden_words_are_those_of_the_address_and_the_translation_is_made_without_them(shipped):
    app = open_page(HOME, text=HUNGRY, hidden="8")
    shown, trace = sent(app), shipped.trace(HUNGRY)
    assert [trace.source_tokens[position] for position in shown["hidden"]] == ["▁not"]
    without = shipped.trace(HUNGRY, interventions=["forbid:cross.*.*:7"])
    assert shown["outputs"] == list(without.target_tokens) and "▁nicht" not in shown["outputs"]
    assert shown["headline"].startswith("Without “not” the translation loses “nicht”. ")
    same = [
        f"“{token.lstrip('▁')}”"
        for key, token in enumerate(trace.source_tokens[:-1])
        if shipped.translate([HUNGRY], interventions=[f"forbid:cross.*.*:{key}"]) == [trace.target_text]
    ]
    spare = f"{len(same)} of 10 words and marks can go alone without any change"
    assert 0 < len(same) <= 3 and shown["headline"].endswith(f"{spare}: {', '.join(same)}.")
    assert shown["whole"] == without.target_text


@pytest.mark.parametrize(
    "hidden, kept", [("8.99", "8"), ("0", ""), ("x", ""), ("8.8", "8"), ("9" * 30, ""), ("<b>", "")]
)
def test_an_address_that_hides_what_is_not_there_loses_only_that(hidden, kept):
    app = open_page(HOME, text=HUNGRY, hidden=hidden)
    assert app.query_params.get("hidden", [""])[0] in (kept, hidden)
    assert sent(app)["hidden"] == ([7] if kept else [])


def test_every_word_of_a_sentence_can_be_hidden_at_once():
    app = open_page(HOME, text=HUNGRY, hidden="1.2.3.4.5.6.7.8.9.10")
    assert not app.exception and sent(app)["hidden"] == list(range(10))
    assert sent(app)["outputs"] == ["</s>"], "so nothing is left"
    assert sent(app)["headline"] == "With every word hidden nothing is left of the translation."


def test_what_can_be_hidden_alone_is_said_of_one_hidden_word_and_named_where_it_is_little(shipped):
    before = shipped.trace(HUNGRY)
    words = word_ranges(before.source_tokens)

    def said(hidden: int, harmless: int) -> str:
        return describe_hidden(before, before, words[:hidden], words[:harmless])

    assert said(1, 0).endswith(" Here every word matters.")
    assert said(1, 3).endswith(" change: “The”, “dog”, “is”.")
    assert said(1, 4).endswith(" 4 of 10 words and marks can go alone without any change.")
    assert said(2, 3) == "Without “The” and “dog” the translation stays the same."
    assert said(4, 3) == "Without 4 words and marks the translation stays the same."


def test_what_is_said_names_what_was_lost_gained_and_exchanged(shipped):
    before = shipped.trace(HUNGRY)
    hidden = [word_ranges(before.source_tokens)[7]]

    def said(target: str) -> str:
        return describe_hidden(before, shipped.trace(HUNGRY, target=target), hidden)

    text = before.target_text
    assert said(text) == "Without “not” the translation stays the same."
    assert said(text.replace(" nicht", "")) == "Without “not” the translation loses “nicht”."
    assert said(text.replace("nicht", "noch nicht")) == "Without “not” the translation gains “noch”."
    assert said(text.replace("nicht", "nie")) == "Without “not” “nicht” becomes “nie”."
    assert "words and marks change" in said("Die Katze schläft den ganzen Tag.")
    changed = changed_outputs(before, after := shipped.trace(HUNGRY, target=text.replace("nicht", "nie")))
    assert [after.target_tokens[position] for position in changed] == ["▁nie"]


def test_the_map_shows_the_head_of_the_lines_and_the_tokens_below(shipped):
    app = open_page(HOME, layer="2", head="5")
    assert not app.get("plotly_chart") and "layer 3, head 4" in sent(app)["name"], "without the map the plainest head"
    app.toggle(key="map_switch").set_value(True).run()
    assert app.query_params["map"] == "1" and len(app.get("plotly_chart")) == 1
    trace = replayed(shipped, "I love my teacher.")
    np.testing.assert_array_equal(np.float32(sent(app)["weights"]), trace.cross[1, 4])
    chips = "".join(element.proto.body for element in app.get("html"))
    assert all(f"id {id_}" in chips for id_ in trace.source_ids)


def test_there_are_three_ways_on():
    app = open_page(HOME)
    assert len(WAYS) == len(app.get("page_link")) == 2
    assert app.button(key="first_lesson").label.startswith("Begin with a lesson: ")


def test_a_text_that_cannot_be_translated_gets_a_message():
    app = open_page(HOME, text=" ")
    assert "is empty" in app.warning[0].value and not app.exception
