"""Models whose positions are missing, or multiplied where they should be divided: no page says the paper's of them."""

import json
import shutil

import pytest
from support.pages import headlines, open_page, page_text

from headlight.app import results
from transformer import Translator
from transformer.interpret.positions import has_formula, model_encoding

TEXT = "The old man saw the old dog and the old cat."


@pytest.fixture(scope="module")
def folder(checkpoints, tmp_path_factory):
    """The shipped English-German weights, read as if they had been trained without positions, or with the slip."""
    folder = tmp_path_factory.mktemp("checkpoints")
    for kind in ("none", "multiplied"):
        shutil.copytree(checkpoints / "en-de", folder / kind)
        path = folder / kind / "config.json"
        config = json.loads(path.read_text(encoding="utf-8"))
        config["model"]["positions"] = kind
        path.write_text(json.dumps(config), encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def only_these(folder, monkeypatch):
    monkeypatch.setattr(results, "CHECKPOINTS", folder)


def opened(page: str, kind: str, **query: str):
    app = open_page(f"pages/{page}.py", checkpoint=kind, text=TEXT, **query)
    assert not app.error and not app.exception
    return app


def test_without_positions_two_orders_of_the_words_are_translated_alike():
    app = opened("positions", "none")
    assert headlines(app) == ["Without positions both orders get the same translation!"]
    assert "This model adds no positions: the two are 0.00 apart." in page_text(app)


def test_without_positions_there_is_nothing_to_draw(folder):
    app, translator = opened("positions", "none", positions="waves"), Translator.load(folder / "none")
    assert not app.get("plotly_chart")
    assert headlines(app) == ["This model adds no positions: its encoder reads a multiset."]
    assert not has_formula(translator.model)
    with pytest.raises(ValueError, match="got positions of the kind none"):
        model_encoding(translator.model)


def test_what_is_multiplied_is_said_to_be():
    text = page_text(opened("positions", "multiplied", positions="waves"))
    assert "This model's table is made with a slip" in text
    assert "pair 0 every 6.3, the last pair every 0.00068." in text
