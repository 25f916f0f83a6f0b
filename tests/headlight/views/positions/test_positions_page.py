"""The page Positions through Streamlit's test runner, with the shipped checkpoints."""

import math
from collections import Counter

from support.pages import findings, headlines, open_page, page_text, specs

from transformer.interpret.positions import without_positions

PAGE = "pages/positions.py"


def test_the_page_opens_with_the_sentence_and_its_words_in_another_order(shipped):
    app = open_page(PAGE)
    texts = [app.text_input(key="text").value, app.text_input(key="reordered_line").value]
    assert texts == ["I love my teacher.", "teacher love my I."]
    traces = [shipped.trace(text) for text in texts]
    assert Counter(traces[0].source_tokens) == Counter(traces[1].source_tokens)
    text = page_text(app)
    assert all(trace.target_text in text for trace in traces)
    with without_positions(shipped.model):
        (bag,) = {shipped.trace(text).target_text for text in texts}
    assert text.count(bag) == 2 and "Try" in findings(app)[0]
    assert headlines(app) == ["Without positions both orders get the same translation!"]


def test_the_second_sentence_follows_the_first_until_it_is_written():
    app = open_page(PAGE)
    app.text_input(key="text").input("The cat sees me.").run()
    assert app.text_input(key="reordered_line").value == "me cat sees The." and not app.exception
    app.text_input(key="reordered_line").input("The cat sees me.").run()
    assert headlines(app) == ["Both sentences are the same: swap two words."]
    app.text_input(key="reordered_line").input("A dog.").run()
    assert headlines(app) == ["The sentences have different tokens: only shared ones can be compared."]
    assert app.query_params["reordered"] == "A dog."
    app.text_input(key="text").input("").run()
    assert any("is empty" in warning.value for warning in app.warning) and not app.exception


def test_the_waves_are_restored_from_the_url():
    app = open_page(PAGE, positions="waves", pair="7", position="11", offset="5")
    assert [app.slider(key=key).value for key in ("pair", "position", "offset")] == [7, 11, 5]
    waves, circle = specs(app)
    assert [trace.get("name") for trace in waves["data"] if trace.get("name")] == [
        "dimension 14: sine",
        "dimension 15: cosine",
    ]
    assert [trace.get("name") for trace in circle["data"]][-2:] == ["PE(11)", "PE(16)"]
    assert f"{math.degrees(5 / 10000 ** (14 / 256)):.2f}°" in page_text(app)
    assert len(app.latex) == 2, "the formula, and a rotation"
