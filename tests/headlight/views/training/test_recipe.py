"""The recipe: schedule and label smoothing of a checkpoint, against the paper's formulas computed here."""

import json
import shutil

import numpy as np
import pytest
from support.models import small_config
from support.pages import ROOT, headlines, open_page, page_text, specs
from support.traces import loaded

import headlight.plots as plots
from headlight.app import results
from headlight.views.training.recipe import describe_rate, describe_smoothing, recorded_rates
from transformer.checkpoint import Checkpoint
from transformer.config import TrainingConfig
from transformer.experiments.training import Smoothing
from transformer.model.transformer import Transformer

PAGE = "pages/training.py"
CHECKPOINTS = ("en-de", "reverse")


def paper_rate(step: int, d_model: int, warmup: int) -> float:
    """Equation 3 of the paper."""
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def scheduled_rate(step: int, d_model: int, settings: TrainingConfig) -> float:
    """Rate of a step, computed apart from the code under test."""
    rate = min(1.0, step / settings.warmup_steps)
    if settings.schedule == "noam":
        rate = paper_rate(step, d_model, settings.warmup_steps)
    left = settings.max_steps - step + 1
    return settings.rate_factor * rate * min(1.0, left / (settings.cooldown_steps + 1))


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_the_recorded_rates_of_a_checkpoint_follow_its_schedule(name):
    translator = loaded(name)
    settings, d_model = translator.checkpoint.settings("schedule"), translator.model.config.d_model
    recorded = [(step, rate) for step, rate in recorded_rates(translator) if step <= settings.max_steps]
    assert recorded
    for step, rate in recorded:  # on a GPU it fell with the time instead of the steps
        assert rate == pytest.approx(scheduled_rate(step, d_model, settings), rel=0.02, abs=1e-6)
    finding = describe_rate(settings, d_model)
    assert finding["top"] == pytest.approx(scheduled_rate(settings.warmup_steps, d_model, settings))
    assert finding["end"] == pytest.approx(scheduled_rate(settings.max_steps, d_model, settings))
    assert finding["ratio"] == pytest.approx(finding["top"] / paper_rate(4000, 512, 4000))


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_each_curve_of_the_loss_has_its_minimum_where_a_search_finds_it(epsilon):
    smoothing = Smoothing(epsilon, 50)
    grid = np.linspace(0.001, 1, 1000)
    losses = [smoothing.cross_entropy(p) for p in grid]
    assert abs(grid[int(np.argmin(losses))] - smoothing.right) <= 0.001
    curve, minimum = plots.smoothed_loss([smoothing], epsilon).data
    assert minimum.x[0] == smoothing.right and minimum.y[0] == pytest.approx(min(losses), abs=1e-3)
    assert min(curve.y) >= minimum.y[0] - 1e-6
    finding = describe_smoothing(smoothing)
    assert finding.name == ("smoothing" if epsilon else "no_smoothing")
    assert not epsilon or (finding["right"], finding["entropy"]) == (smoothing.right, smoothing.entropy)


def test_the_view_restores_epsilon():
    app = open_page(PAGE, training="recipe", epsilon="0.3")
    assert app.slider(key="epsilon").value == 0.3 and len(specs(app)) == 2
    translator = loaded("en-de")
    smoothing = Smoothing(0.3, translator.model.config.output_size)
    assert f"{smoothing.entropy:.3f} nats" in page_text(app)
    assert headlines(app)[1] == describe_smoothing(smoothing).headline


def test_a_checkpoint_without_a_configuration_gets_no_curve_of_its_own(tmp_path, monkeypatch):
    folder = tmp_path / "own"
    shutil.copytree(ROOT / "checkpoints" / "reverse", folder)
    training = json.loads((folder / "training.json").read_text())
    del training["configuration"]
    (folder / "training.json").write_text(json.dumps(training))
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path)
    app = open_page(PAGE, training="recipe")
    assert len(specs(app)) == 1 and "does not name the learning rate" in app.info[0].value
    assert "was trained with" not in page_text(app)


@pytest.mark.parametrize(
    "training",
    [
        {},
        {"configuration": {"training": []}},
        {"configuration": {"training": {"schedule": "noam"}}},
        {"configuration": {"training": {"schedule": "noam", "warmup_steps": "many"}}},
        {"configuration": {"training": {"schedule": "noam", "warmup_steps": 0}}},
        {"configuration": {"training": {"schedule": "noam", "warmup_steps": 9, "unheard_of": 1}}},
    ],
)
def test_settings_that_a_checkpoint_does_not_have_are_not_invented(training, tokenizer):
    checkpoint = Checkpoint(Transformer(small_config()), tokenizer, training)
    assert checkpoint.settings("schedule", "warmup_steps") is None
    checkpoint.training["configuration"] = {"training": {"schedule": "constant", "warmup_steps": 9}}
    assert checkpoint.settings("schedule", "warmup_steps").warmup_steps == 9
    assert checkpoint.settings("rate_factor") is None, "a default is no setting of the checkpoint"
