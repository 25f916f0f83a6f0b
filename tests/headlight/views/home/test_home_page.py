"""The home: the translation at once, joined to the sentence by the head that shows most, and where to go on."""

import json

import numpy as np
import pytest
from support.pages import components, open_page, page_text

from headlight.views.home.page import LESSONS, WAYS

HOME = "pages/home.py"


def sent(app) -> dict:
    (lines,) = components(app)
    return json.loads(lines.proto.json)


def test_the_home_shows_the_translation_and_the_weights_of_one_head(shipped):
    app = open_page(HOME)
    trace = shipped.trace("I love my teacher.")
    assert trace.target_text in page_text(app)
    shown = sent(app)
    assert shown["source"] == list(trace.source_tokens) and shown["outputs"] == list(trace.target_tokens)
    assert any(
        np.array_equal(np.float32(shown["weights"]), head)
        for layer in trace.cross
        for head in layer
        if head.max(axis=1).mean() > 0.7
    ), "the weights are one head's own, and of one that shows something"


@pytest.mark.parametrize("number", range(len(LESSONS)))
def test_a_lesson_puts_its_sentence_into_the_field_and_shows_it(shipped, number):
    app = open_page(HOME)
    app.button(key=f"lesson_{number}").click().run()
    sentence = list(LESSONS.values())[number]
    assert app.text_input(key="text").value == sentence
    assert shipped.translate([sentence])[0] in page_text(app)
    assert sent(app)["source"] == list(shipped.trace(sentence).source_tokens)


def test_there_are_three_ways_on():
    app = open_page(HOME)
    assert len(WAYS) == len(app.get("page_link")) == 3


def test_a_text_that_cannot_be_translated_gets_a_message():
    app = open_page(HOME, text=" ")
    assert "is empty" in app.warning[0].value and not app.exception
