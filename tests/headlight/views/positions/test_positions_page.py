"""The page on positional encoding through Streamlit's own test runner, with the shipped checkpoint."""

import math
from collections import Counter

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from support.pages import ROOT, findings, headlines, numbers, open_page, page_text, shows_only_text, specs

from transformer import Translator
from transformer.interpret.positions import position_rows, without_positions

PAGE = "pages/positions.py"
CHARTS = {
    "word order": 2,
    "curves": 2,
    "matrix": 2,
    "similarity": 3,
    "wavelengths": 1,
    "rotation": 2,
    "embedding sum": 2,
}
OF_ENCODINGS = [view for view in CHARTS if view not in ("word order", "embedding sum")]


def open_positions(**query: str | list[str]) -> AppTest:
    return open_page(PAGE, **query)


def test_every_view_is_chosen_by_a_click_and_says_what_to_look_for_and_to_try():
    app = open_positions(positions="curves")
    names = ["8 (sin)", "9 (cos)", "16 (sin)", "17 (cos)", "24 (sin)", "25 (cos)"]
    assert [trace["name"] for trace in specs(app)[0]["data"]] == names
    for view, charts in CHARTS.items():
        app.segmented_control(key="positions").set_value(view).run()
        assert not app.exception and not app.warning
        assert len(specs(app)) == charts and "Try" in findings(app)[0]


@pytest.mark.parametrize("name", ["en-de", "en-fr", "reverse"])
def test_the_page_opens_with_two_orders_of_the_same_words_and_what_positions_make_of_them(name):
    app, loaded = open_positions(checkpoint=name), Translator.load(ROOT / "checkpoints" / name, "cpu")
    texts = [field.value for field in app.text_input if field.key.endswith("ordered_line")]
    both = "Tom sees Mary.", "Mary sees Tom."
    assert tuple(texts) == (both if name != "reverse" else ("I love my teacher.", "teacher love my I."))
    traces = [loaded.trace(text) for text in texts]
    assert Counter(traces[0].source_tokens) == Counter(traces[1].source_tokens)
    assert all(trace.target_text in page_text(app) for trace in traces)
    with without_positions(loaded.model):
        (bag,) = {loaded.trace(text).target_text for text in texts}
    assert page_text(app).count(bag) == 2
    assert headlines(app) == ["Without positions both sentences get the same translation."]
    distances = numbers(specs(app)[1]["data"][2]["x"])
    table = position_rows(loaded.model)
    moved = [
        (token, first, second)
        for first, token in enumerate(traces[0].source_tokens)
        for second in [traces[1].source_tokens.index(token)]
        if traces[0].source_tokens.count(token) == 1 and first != second
    ]
    for _, first, second in moved[:2]:
        assert np.isclose(distances, np.linalg.norm(table[first] - table[second]), atol=1e-4).any()
    assert (numbers(specs(app)[1]["data"][1]["x"]) == 0).all(), "the embeddings alone are the same"


def test_the_second_sentence_follows_the_first_until_it_is_written():
    app = open_positions()
    app.text_input(key="ordered_line").input("The cat sees me.").run()
    assert app.text_input(key="reordered_line").value == "me cat sees The." and not app.exception
    app.text_input(key="reordered_line").input("The cat sees me.").run()
    assert headlines(app) == ["Both sentences are the same: exchange two of their words."] and not specs(app)
    app.text_input(key="reordered_line").input("A dog.").run()
    assert headlines(app) == ["The sentences have different tokens: only shared ones can be compared."]
    assert app.query_params["ordered"] == "The cat sees me." and app.query_params["reordered"] == "A dog."
    app.text_input(key="ordered_line").input("").run()
    assert any("is empty" in warning.value for warning in app.warning) and not app.exception


def test_an_address_of_the_time_when_the_curves_came_first_opens_them():
    app = open_positions(d_model="32", dims=["0", "20"])
    assert app.segmented_control(key="positions").value == "curves"
    assert [trace["name"] for trace in specs(app)[0]["data"]] == ["0 (sin)", "20 (sin)"]
    app.segmented_control(key="positions").set_value("word order").run()
    assert app.segmented_control(key="positions").value == "word order"


def test_the_settings_are_restored_from_the_url():
    app = open_positions(positions="curves", d_model="96", length="40", base="100", dims=["4", "30"])
    assert (app.slider(key="d_model").value, app.slider(key="length").value) == (96, 40)
    assert app.select_slider(key="base").value == "100"
    assert app.multiselect(key="dims").value == ["4", "30"]
    assert [trace["name"] for trace in specs(app)[0]["data"]] == ["4 (sin)", "30 (sin)"]
    assert specs(app)[0]["layout"]["xaxis"]["range"] == [-0.5, 39.5]
    assert f"{2 * math.pi * 100 ** (30 / 96):.1f}" in page_text(app)


def test_the_hand_of_the_clock_is_restored_from_the_url():
    app = open_positions(positions="rotation", pair="7", position="11", offset="5")
    chosen = app.number_input(key="pair").value, app.slider(key="position").value, app.slider(key="offset").value
    assert chosen == (7, 11, 5)
    assert [trace.get("name") for trace in specs(app)[0]["data"]][-2:] == ["PE(11)", "PE(16)"]
    assert f"{math.degrees(5 / 10000 ** (14 / 64)):.2f}°" in page_text(app)
    assert len(app.latex) == 3, "the paper's formula, and a rotation each for settings and model"


def test_an_odd_d_model_is_refused_with_a_sentence():
    app = open_positions(positions="curves", d_model="63")
    assert not specs(app)
    assert "63 is odd" in page_text(app) and "must be even" in page_text(app)
    app.slider(key="d_model").set_value(62).run()
    assert not app.warning and not app.exception and len(specs(app)) == 2


@pytest.mark.parametrize("view", [*CHARTS, "evil"])
def test_what_makes_no_sense_in_the_url_falls_back(view):
    garbage = {"d_model": "abc", "length": "-4", "base": "evil", "dims": ["x", "-1", "9999"], "pair": "99999"}
    app = open_positions(positions=view, **garbage, position="none", offset="0", first_dims="?")
    assert not app.warning and len(specs(app)) == CHARTS.get(view, CHARTS["word order"])


@pytest.mark.parametrize("value", ["inf", "nan", "-1", "1e400", "9" * 5000])
def test_a_pair_that_is_no_number_falls_back(value):
    app = open_positions(positions="rotation", pair=value)
    assert not app.warning and app.number_input(key="pair").value == 4


@pytest.mark.parametrize("view", OF_ENCODINGS)
def test_the_smallest_and_the_largest_settings_are_drawn(view):
    for settings in ({"d_model": "2", "length": "8", "base": "10"}, {"d_model": "512", "length": "512"}):
        app = open_positions(positions=view, **settings)
        assert not app.warning and len(specs(app)) == CHARTS[view]


def test_dimensions_that_are_not_there_are_said_so_and_none_at_all_asks_for_one():
    app = open_positions(d_model="16", dims=["3", "300"])
    assert page_text(app).count("Not here: 300.") == 2
    app.multiselect(key="dims").set_value([]).run()
    assert "at least one dimension" in app.warning[0].value and not app.exception


def test_a_pair_or_a_position_that_is_not_there_keeps_the_page_alive():
    app = open_positions(positions="rotation", position="90", offset="90", pair="30")
    assert len(specs(app)) == 1 and "p + k = 180" in page_text(app), "the model has not so many"
    app.slider(key="d_model").set_value(4).run()
    assert not app.exception and app.number_input(key="pair").value == 1


def test_adding_shows_the_visitors_tokens_and_offers_a_sentence_with_a_repetition():
    app = open_positions(positions="embedding sum", first_dims="64")
    assert specs(app)[0]["layout"]["xaxis"]["range"] == [-0.5, 63.5]
    assert "No token occurs twice" in page_text(app)
    button = app.button(key="use_repeating")
    assert button.label.replace("\\", "") == "Use “The old man saw the old dog and the old cat.”"
    button.click().run()
    assert not app.exception
    assert len(specs(app)) == 3 and specs(app)[2]["layout"]["yaxis"]["ticktext"][1].endswith("old, position 5")
    labels = specs(app)[0]["layout"]["yaxis"]["ticktext"]
    assert labels[:6] == ["The", "old", "man", "saw", "the", "old"]
    assert headlines(app)[-1].startswith("After the addition two copies of “old” are ")
    assert "It occurs 3 times, first at positions 1 and 5" in page_text(app)


@pytest.mark.parametrize("text", ["<script>alert(1)</script> $x^2$ **b** :red[no]", "", "word " * 500])
def test_hostile_empty_and_long_sentences_are_no_trouble(text):
    app = open_positions(positions="embedding sum", text="I am here.")
    app.text_input(key="text").input(text).run()
    assert not app.exception
    assert shows_only_text(app)
