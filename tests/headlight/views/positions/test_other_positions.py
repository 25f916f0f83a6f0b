"""Models without positions, or with multiplied in place of divided ones: pages describe their own positions."""

import json
import shutil

import pytest
from support.pages import headlines, open_page, page_text

from headlight.app import results
from transformer import Translator
from transformer.interpret.positions import has_formula, model_encoding


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
        app = open_page("pages/positions.py", checkpoint="changed", text="The old man saw the old dog.", **query)
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
