"""The view on the learning rate through Streamlit's own test runner: curves, links, and what is refused."""

import json
import math
import shutil

import pytest
from streamlit.testing.v1 import AppTest
from support.pages import ROOT, findings, headlines, open_page, page_text, specs, tables

from headlight.app import results

PAGE = "pages/training.py"


def open_rate(**query: str) -> AppTest:
    return open_page(PAGE, training="learning-rate schedule", **query)


def test_the_view_opens_with_three_curves_their_peaks_and_the_checkpoints_own():
    app = open_rate()
    curves, own = specs(app)
    assert [trace["name"] for trace in curves["data"] if trace.get("showlegend", True)] == [
        "curve 1 peaks at step 4,000: 6.99·10⁻⁴",
        "curve 2 peaks at step 8,000: 4.94·10⁻⁴",
        "curve 3 peaks at step 4,000: 9.88·10⁻⁴",
    ]
    assert "6.9877·10⁻⁴" in tables(app)
    assert "its peak is 0.707 times as high" in page_text(app) and "Try" in findings(app)[0]
    assert [trace["name"] for trace in own["data"]][0::2] == ["this checkpoint", "as its training wrote it down"]
    training = json.loads((ROOT / "checkpoints/en-de/training.json").read_text(encoding="utf-8"))
    settings = training["configuration"]["training"]
    is_constant = settings["schedule"] == "constant"
    peak = settings["rate_factor"] * (1 if is_constant else 256**-0.5 * settings["warmup_steps"] ** -0.5)
    power = math.floor(math.log10(peak))
    high = str(-power).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    said = f"After {settings['warmup_steps']} steps of warm-up the rate was {peak / 10.0**power:.2f}·10⁻{high}."
    assert headlines(app)[1] == said
    assert f"{peak / (512 * 4000) ** -0.5:.3g} times the paper's peak" in page_text(
        app
    ) and "the farthest from the formula" in page_text(app)
    assert len(app.latex) == 3 and not app.warning


def test_the_url_restores_curves_and_axes():
    app = open_rate(curves="2", d_model2="64", warmup2="100", factor2="0.5", axes="logarithmic")
    assert app.slider(key="curves").value == 2 and app.number_input(key="d_model2").value == 64
    assert "curve 2 peaks at step 100: 6.25·10⁻³" in json.dumps(specs(app)[0], ensure_ascii=False)
    assert specs(app)[0]["layout"]["xaxis"]["type"] == "log"
    assert "straight lines with slopes 1 and −0.5" in page_text(app)
    assert "d_model3" not in [box.key for box in app.number_input]


@pytest.mark.parametrize(
    "key, value, message",
    [
        ("d_model1", 511, "Curve 1 cannot be drawn. The d_model must be even"),
        ("warmup2", 0, "The warm-up must be between 1 and 100,000, not 0."),
        ("factor3", 1e300, "at most 1,000, not a number so far away"),
    ],
)
def test_what_cannot_be_gets_a_sentence_and_nothing_is_lost(key, value, message):
    app = open_rate()
    app.number_input(key=key).set_value(value).run()
    assert not app.exception
    assert message in app.warning[0].value.replace("\\", "")
    assert len(specs(app)) == 1, "what the checkpoint was trained with stays"
    app.number_input(key=key).set_value(16.0).run()
    assert not app.exception and not app.warning and len(specs(app)) == 2


@pytest.mark.parametrize("value", ["x", "inf", "nan"])
def test_garbage_in_the_url_falls_back(value):
    app = open_rate(curves=value, d_model1=value, warmup1=value, factor1=value, axes=value)
    assert len(specs(app)) == 2 and app.number_input(key="warmup1").value == 4000


def damaged(tmp_path, monkeypatch, change) -> AppTest:
    """The view with a checkpoint whose training.json was changed."""
    folder = tmp_path / "own"
    shutil.copytree(ROOT / "checkpoints" / "en-de", folder, ignore=shutil.ignore_patterns("resume", "samples.tsv"))
    training = json.loads((folder / "training.json").read_text())
    change(training)
    (folder / "training.json").write_text(json.dumps(training))
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path)
    return open_rate()


def test_a_checkpoint_that_does_not_tell_its_rate_says_so(tmp_path, monkeypatch):
    app = damaged(tmp_path, monkeypatch, lambda training: training.pop("configuration"))
    assert "does not say with which rate it was trained" in page_text(app)
    assert len(specs(app)) == 1 and not app.warning


@pytest.mark.parametrize(
    "change", [{"rate_factor": 1e308}, {"warmup_steps": 10**40}, {"max_steps": 10**40}, {"rate_factor": float("inf")}]
)
def test_a_checkpoint_with_absurd_settings_gets_a_sentence(tmp_path, monkeypatch, change):
    app = damaged(tmp_path, monkeypatch, lambda training: training["configuration"]["training"].update(change))
    assert len(specs(app)) == 1
    assert "must be" in page_text(app) or "does not say" in page_text(app)
