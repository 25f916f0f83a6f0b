"""Noam curves: the closed form, what is drawn of them, and what a checkpoint tells of its own."""

import math

import numpy as np
import pytest
from support.small import small_config

from headlight.plots.text import scientific
from headlight.plots.training import rates_figure, thinned, trained_figure
from transformer.checkpoint import Checkpoint
from transformer.config import TrainingConfig
from transformer.errors import ConfigError
from transformer.model.transformer import Transformer
from transformer.training.optimization import Noam, learning_rate, noam_rate

CURVES = [Noam(512, 400), Noam(512, 800), Noam(128, 400), Noam(512, 400, 3.0)]
LAST = 5 * 800


@pytest.fixture(scope="module")
def rates() -> list[np.ndarray]:
    return [curve.rates(LAST) for curve in CURVES]


@pytest.mark.parametrize("curve", CURVES)
def test_every_step_has_the_rate_of_the_schedule_that_training_uses(curve):
    expected = [curve.factor * noam_rate(step, curve.d_model, curve.warmup_steps) for step in range(1, 1001)]
    np.testing.assert_allclose(curve.rates(1000), expected, rtol=1e-14)


@pytest.mark.parametrize("curve", [*CURVES, Noam(2, 1), Noam(65_536, 9_999, 1000), Noam(34, 7, 1e-3)])
def test_the_peak_is_at_the_end_of_the_warm_up_and_has_the_closed_form(curve):
    values = curve.rates(3 * curve.warmup_steps)
    assert values.argmax() + 1 == curve.warmup_steps
    assert values.max() == pytest.approx(curve.factor * curve.d_model**-0.5 * curve.warmup_steps**-0.5, rel=1e-14)
    assert curve.peak == pytest.approx(values.max(), rel=1e-14)


@pytest.mark.parametrize(
    "settings, message",
    [
        ((0, 4000), "d_model must be between 2 and 65,536, not 0"),
        ((-512, 4000), "not -512"),
        ((10**30, 4000), "d_model must be between"),
        ((511, 4000), "511 is odd: try 510 or 512"),
        ((512, 0), "warm-up must be between 1 and 100,000, not 0"),
        ((512, -1), "not -1"),
        ((512, 10**12), "not 1,000,000,000,000"),
        ((512, 4000, 0.0), "factor must be greater than 0"),
        ((512, 4000, -1.0), "not -1"),
        ((512.5, 4000), "d_model must be a whole number, not 512.5"),
        ((512, math.inf), "not a number so far away"),
        ((10**5000, 4000), "d_model must be between 2 and 65,536, not a number so far away"),
        ((512, 4000, math.inf), "not a number so far away"),
        ((512, 4000, math.nan), "not nan"),
    ],
)
def test_what_no_schedule_can_be_is_refused_with_a_sentence(settings, message):
    with pytest.raises(ConfigError, match=message):
        Noam(*settings)


def test_few_steps_are_drawn_and_the_kept_ones_are_among_them():
    steps = thinned(500_000, 4321, 0, 500_001)
    assert steps[0] == 1 and steps[-1] == 500_000 and 4321 in steps
    assert len(steps) < 500 and (np.diff(steps) > 0).all()
    assert thinned(1).tolist() == [1]


@pytest.mark.parametrize("axes", ["linear", "logarithmic"])
def test_each_curve_is_a_line_with_its_peak_marked_and_named(rates, axes):
    figure = rates_figure(CURVES, rates, axes)
    lines, peaks = figure.data[0::2], figure.data[1::2]
    assert len(lines) == len(peaks) == len(CURVES)
    for curve, values, line, peak in zip(CURVES, rates, lines, peaks, strict=True):
        np.testing.assert_array_equal(line.y, values[line.x - 1])
        assert list(peak.x) == [curve.warmup_steps] and peak.y[0] == values.max()
        assert peak.name.endswith(f"step {curve.warmup_steps:,}: {scientific(curve.peak)}")
        assert line.line.color == peak.marker.color and not line.showlegend
    assert (
        len({(line.line.color, line.line.dash, peak.marker.symbol) for line, peak in zip(lines, peaks, strict=True)})
        == 4
    )
    assert (figure.layout.xaxis.type == "log") == (figure.layout.yaxis.type == "log") == (axes == "logarithmic")
    assert figure.layout.xaxis.title.text == "step" and figure.layout.yaxis.title.text == "rate"


@pytest.mark.parametrize("schedule, factor", [("noam", 0.5), ("constant", 0.002)])
def test_a_checkpoints_own_rate_is_drawn_with_its_cool_down_and_what_its_run_wrote(schedule, factor):
    settings = TrainingConfig(
        max_steps=900, warmup_steps=200, cooldown_steps=300, rate_factor=factor, schedule=schedule
    )
    recorded = [(step, learning_rate(step, 128, settings)) for step in (100, 600, 900)]
    figure = trained_figure(settings, 128, recorded, "linear")
    own, paper, dots = figure.data
    assert {200, 600, 601, 900} <= set(own.x)
    np.testing.assert_allclose(own.y, [learning_rate(int(step), 128, settings) for step in own.x])
    np.testing.assert_allclose(paper.y, [noam_rate(int(step), 512, 4000) for step in paper.x])
    assert list(dots.x) == [100, 600, 900]
    assert len(trained_figure(settings, 128, [], "linear").data) == 2


@pytest.mark.parametrize(
    "training",
    [
        {},
        {"configuration": None},
        {"configuration": {"training": []}},
        {"configuration": {"training": {"schedule": "noam"}}},
        {"configuration": {"training": {"schedule": "noam", "warmup_steps": "many"}}},
        {"configuration": {"training": {"schedule": "noam", "warmup_steps": 0}}},
        {"configuration": {"training": {"schedule": "noam", "warmup_steps": 9, "unheard_of": 1}}},
    ],
)
def test_settings_that_a_checkpoint_does_not_tell_are_not_made_up(training, tokenizer):
    checkpoint = Checkpoint(Transformer(small_config()), tokenizer, training)
    assert checkpoint.settings("schedule", "warmup_steps") is None


def test_settings_that_a_checkpoint_tells_are_read(tokenizer):
    training = {"configuration": {"training": {"schedule": "constant", "warmup_steps": 9}}}
    checkpoint = Checkpoint(Transformer(small_config()), tokenizer, training)
    assert checkpoint.settings("schedule", "warmup_steps").warmup_steps == 9
    assert checkpoint.settings("rate_factor") is None, "a default is not what the checkpoint tells"
