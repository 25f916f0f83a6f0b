"""The page Positions through Streamlit's test runner, with the shipped checkpoint and with changed positions."""

import json
import math
import shutil
from collections import Counter

import pytest
from support.pages import findings, headlines, open_page, page_text, specs

from headlight.app import results
from headlight.plots.tokens import shown_tokens
from transformer import Translator
from transformer.interpret.positions import has_formula, model_encoding, without_positions

PAGE = "pages/positions.py"


def test_the_page_opens_with_the_sentence_and_its_words_in_another_order(shipped):
    app = open_page(PAGE)
    texts = [app.text_input(key="text").value, app.text_input(key="reordered").value]
    assert texts == ["I love my teacher.", "I teacher my love."]
    traces = [shipped.trace(text) for text in texts]
    assert Counter(traces[0].source_tokens) == Counter(traces[1].source_tokens)
    text = page_text(app)
    assert all(trace.target_text in text for trace in traces)
    with without_positions(shipped.model):
        (bag,) = {shipped.trace(text).target_text for text in texts}
    assert text.count(bag) == 2 + [trace.target_text for trace in traces].count(bag) and "Try" in findings(app)[0]
    assert headlines(app) == ["Without positions both orders get the same translation!"]
    rows = [spec["layout"]["yaxis"]["ticktext"] for spec in specs(app)]
    assert rows == [shown_tokens(trace.source_tokens) for trace in traces]


def test_the_second_sentence_follows_the_first_until_it_is_written():
    app = open_page(PAGE)
    app.text_input(key="text").input("The cat sees me.").run()
    assert app.text_input(key="reordered").value == "The sees cat me." and not app.exception
    app.text_input(key="reordered").input("The cat sees me.").run()
    assert headlines(app) == ["Both sentences are the same: swap two words."]
    app.text_input(key="reordered").input("A dog.").run()
    assert headlines(app) == ["The sentences have different tokens: only shared ones can be compared."]
    assert app.query_params["reordered"] == "A dog."
    app.text_input(key="text").input("").run()
    assert headlines(app) == ["The sentences have different tokens: only shared ones can be compared."]


def test_the_waves_are_restored_from_the_url():
    app = open_page(PAGE, positions="waves", pair="7", position="11", offset="5")
    assert [app.slider(key=key).value for key in ("pair", "position", "offset")] == [7, 11, 5]
    waves, circle = specs(app)
    assert [(shape["x0"], shape["y0"]) for shape in waves["layout"]["shapes"]] == [(13.5, 0), (0, 11), (0, 16)]
    assert [trace.get("name") for trace in circle["data"]][-2:] == ["PE(11)", "PE(16)"]
    assert f"{math.degrees(5 / 10000 ** (14 / 256)):.2f}°" in page_text(app)
    assert len(app.latex) == 2, "the formula, and a rotation"


@pytest.fixture
def open_changed(checkpoints, tmp_path, monkeypatch):
    """Return a function that opens the page Positions with en-de, its positions changed."""
    shutil.copytree(checkpoints / "en-de", tmp_path / "changed", ignore=shutil.ignore_patterns("resume"))
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path)
    path = tmp_path / "changed" / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))

    def opened(kind: str, **query: str):
        config["model"]["positions"] = kind
        path.write_text(json.dumps(config), encoding="utf-8")
        app = open_page(PAGE, checkpoint="changed", text="The old man saw the old dog.", **query)
        assert not app.error
        return app

    return opened


def test_without_positions_two_orders_of_the_words_are_translated_alike(open_changed, tmp_path):
    app = open_changed("none")
    assert headlines(app) == ["Without positions both orders get the same translation!"]
    assert "This model adds no positions: the two are 0.00 apart." in page_text(app)
    app, translator = open_changed("none", positions="waves"), Translator.load(tmp_path / "changed")
    assert not app.get("plotly_chart")
    assert headlines(app) == ["This model adds no positions: its encoder reads a multiset."]
    assert not has_formula(translator.model)
    with pytest.raises(ValueError, match="got positions of the kind none"):
        model_encoding(translator.model)


def test_multiplied_positions_are_described_with_their_wavelengths(open_changed):
    text = page_text(open_changed("multiplied", positions="waves"))
    assert "This model's table is made with a slip" in text
    assert "pair 0 every 6.3, the last pair every 0.00068." in text
