"""The view on label smoothing through Streamlit's own test runner: both forms, links, and the loaded model's own."""

import json
import shutil

import pytest
from streamlit.testing.v1 import AppTest
from support.pages import ROOT, headlines, open_page, page_text, shows_only_text, specs, tables

from headlight.app import results
from transformer import Translator

PAGE = "pages/training.py"


def open_smoothing(**query: str) -> AppTest:
    return open_page(PAGE, training="label smoothing", **query)


def test_the_view_opens_with_both_forms_their_losses_and_this_models_confidence():
    app = open_smoothing()
    over_all, over_others, *losses, confidence = specs(app)
    assert len(losses) == 2
    assert over_all["layout"]["xaxis"]["ticktext"] == ["⟨pad⟩", "⟨end⟩", "the", "dog", "sees"]
    assert ".92" in over_all["data"][1]["text"] and ".033" in over_others["data"][1]["text"]
    names = [trace["name"] for trace in losses[0]["data"] if trace.get("showlegend", True)]
    assert names[1] == "ε 0.1: least 0.390 at p = 0.920" and len(names) == 4
    assert "0.434944" in tables(app)
    text = page_text(app)
    assert headlines(app)[1] == "Spread over all classes, the loss is least at p = 0.920."
    assert "In the other form, at 0.900;" in text
    assert "ε = 0.1 spread over all 12,000 classes" in text and "below 1.264 nats per token" in text
    trace = Translator.load(ROOT / "checkpoints" / "en-de", "cpu").trace("I love my teacher.")
    assert f"{trace.target_probabilities.max():.4f}" in text
    assert len(confidence["layout"]["yaxis"]["ticktext"]) == len(trace.target_tokens)


def test_the_url_restores_epsilon_classes_and_measure():
    app = open_smoothing(epsilon="0.3", classes="9", measure="KL divergence")
    assert app.slider(key="epsilon").value == 0.3 and app.slider(key="classes").value == 9
    over_all, _, loss, *_ = specs(app)
    assert len(over_all["layout"]["xaxis"]["ticktext"]) == 9
    names = [trace["name"] for trace in loss["data"] if trace.get("showlegend", True)]
    assert "ε 0.3: least 0.000 at p = 0.733" in names and len(names) == 5
    assert loss["layout"]["yaxis"]["title"]["text"] == "KL divergence, nats"


@pytest.mark.parametrize("query", [{"epsilon": "1.5", "classes": "1", "measure": "x"}, {"epsilon": "-1"}])
def test_garbage_in_the_url_falls_back(query):
    app = open_smoothing(**query)
    assert len(specs(app)) == 5 and app.slider(key="epsilon").value == 0.1


@pytest.mark.parametrize("epsilon", ["0.0", "0.95"])
def test_the_ends_of_the_slider(epsilon):
    app = open_smoothing(epsilon=epsilon)
    assert f"With ε = {float(epsilon):g} each other gets" in page_text(app) and len(specs(app)) == 5


def test_a_sentence_that_cannot_be_translated_costs_the_last_figure_alone():
    app = open_smoothing(text="")
    assert len(specs(app)) == 4 and "is empty" in app.warning[0].value


@pytest.mark.parametrize(
    "removed, charts, words",
    [
        (("configuration",), 4, "does not say whether it was trained with label smoothing"),
        (("configuration", "training", "label_smoothing"), 4, "does not say whether"),
        ((), 5, "ε = 0.1 spread over all"),
    ],
)
def test_a_checkpoint_that_tells_less_gets_less_said(tmp_path, monkeypatch, removed, charts, words):
    folder = tmp_path / "own"
    shutil.copytree(ROOT / "checkpoints" / "en-de", folder, ignore=shutil.ignore_patterns("resume"))
    training = json.loads((folder / "training.json").read_text())
    if removed:
        table = training
        for name in removed[:-1]:
            table = table[name]
        del table[removed[-1]]
    (folder / "training.json").write_text(json.dumps(training))
    (folder / "history.csv").write_text("step,valid_loss\n500,2.5\n")
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path)
    app = open_smoothing()
    assert len(specs(app)) == charts and words in page_text(app)
    assert "at the end of training it was" not in page_text(app)


def test_the_tokens_of_a_hostile_sentence_are_text(monkeypatch):
    app = open_smoothing(text="<script>alert(1)</script> **b** $x^2$")
    assert not app.exception and len(specs(app)) == 5
    assert not any("<script" in label for label in specs(app)[-1]["layout"]["yaxis"]["ticktext"])
    assert shows_only_text(app)
