"""Laws of the sentences on the learning rate: the schedule computed step by step, from equation 3 of the paper."""

import itertools
import math
import re
from dataclasses import replace

import pytest
from support.claims import TINY, as_scientific, number, scientific_number
from support.streams import loaded

from headlight.views.training import learning_rate as content
from transformer.config import TrainingConfig
from transformer.training.optimization import Noam

_SETTINGS = [(512, 400, 1.0), (512, 800, 1.0), (514, 400, 1.0), (512, 400, 0.5), (512, 1, 1.0), (2, 7, 1000.0)]


def _rate(step: int, d_model: int, warmup: int, factor: float) -> float:
    return factor / math.sqrt(d_model) * min(1 / math.sqrt(step), step / warmup**1.5)


def _is(text: str, value: float) -> bool:
    """Whether a text has a value's first three digits."""
    return float(text) == pytest.approx(value, rel=0.0051)


@pytest.mark.parametrize("one, other", list(itertools.permutations(_SETTINGS, 2)))
def test_how_two_curves_differ(one, other):
    curves = [Noam(*one), Noam(*other)]
    last = 5 * max(one[1], other[1])
    rates = [curve.rates(last) for curve in curves]
    own, others = ([_rate(step, *setting) for step in range(1, last + 1)] for setting in (one, other))
    said = str(content.describe_rates(curves, rates, logarithmic=False))
    peak, height, later, share, changed, high = re.fullmatch(
        rf"Curve 1 peaks at step ([\d,]+) with ({TINY})\. At step ([\d,]+), four times as late, its rate is ([\d.]+) "
        r"of that\. Curve 2 has (.*) of curve 1: its peak is (\S+) times as high\.",
        said,
    ).groups()
    top = own.index(max(own))
    assert (
        as_scientific(height, own[top]) and int(number(peak)) == top + 1 == one[1] and int(number(later)) == 4 * one[1]
    )
    assert _is(share, own[4 * top + 3] / own[top]) and _is(high, max(others) / max(own))
    ratios = {noun: ratio for ratio, noun in re.findall(r"(\S+) times the (warm-up|d_model|factor)", changed)}
    nouns = (("d_model", 0), ("warm-up", 1), ("factor", 2))
    assert ratios.keys() == {noun for noun, at in nouns if one[at] != other[at]}
    assert all(_is(ratios[noun], other[at] / one[at]) for noun, at in nouns if noun in ratios)

    rows = content.peak_rows(curves, rates)
    for (_, texts), setting, values in zip(rows, (one, other), (own, others), strict=True):
        drawn, warmup, height, formula, apart = texts
        assert (number(drawn), number(warmup)) == (setting[1], setting[1]) and as_scientific(height, max(values))
        assert height == formula and scientific_number(apart) < 1e-15 * max(1, max(values) * 10)
    wrong = content.peak_rows(curves[:1], [rates[0] * 1.5])[0][1][4]
    assert as_scientific(wrong, max(own) / 2), "a curve that is not the formula's is found out"


def test_both_halves_are_powers_and_equal_curves_are_said_to_be_one():
    curves = [Noam(512, 400)] * 2
    rates = [curve.rates(2000) for curve in curves]
    said = content.describe_rates(curves, rates, logarithmic=True).more
    assert "straight lines with slopes 1 and −0.5" in said and said.endswith("Curve 2 lies on curve 1.")
    slopes = [math.log(_rate(2 * at, 512, 400, 1) / _rate(at, 512, 400, 1)) / math.log(2) for at in (100, 500)]
    assert slopes == pytest.approx([1, -0.5])


def test_the_formulas_hold_the_chosen_numbers():
    curves = [Noam(512, 400, 3.0), Noam(512, 800)]
    assert "3 \\cdot 512^{-0.5}" in content.filled_formula(curves[0]) and "400^{-1.5}" in content.filled_formula(
        curves[0]
    )
    lines = content.peak_formula(curves)
    assert "1 \\cdot 512^{-0.5} \\cdot 800^{-0.5}" in lines and lines.count("peak") == 2
    assert "1.56 \\cdot 10^{-3}" in lines, "1 / sqrt(512 x 800) = 1 / 640"


def _trained(step: int, d_model: int, settings) -> float:
    """The schedule with its cool-down."""
    rate = min(1.0, step / settings.warmup_steps)
    if settings.schedule == "noam":
        rate = _rate(step, d_model, settings.warmup_steps, 1.0)
    left = settings.max_steps - step + 1
    if left <= settings.cooldown_steps:
        rate *= left / (settings.cooldown_steps + 1)
    return settings.rate_factor * rate


def _checkpoints():
    for name in ("en-de", "en-fr", "reverse"):
        checkpoint = loaded(name).checkpoint
        settings = checkpoint.settings("schedule", "warmup_steps", "rate_factor", "cooldown_steps", "max_steps")
        recorded = [(int(row["step"]), row["rate"]) for row in checkpoint.history if "rate" in row]
        yield settings, loaded(name).model.config.d_model, recorded, checkpoint.training.get("steps")


def test_the_rate_that_a_checkpoint_was_trained_with():
    plain = TrainingConfig(max_steps=100, warmup_steps=40)
    cases = [(replace(plain, warmup_steps=400), 64, [(10, 1e-5)], None), (plain, 64, [], 100), (plain, 64, [], 70)]
    cooled = replace(plain, cooldown_steps=10)
    cases += [(cooled, 64, [(0, 1e-5), (101, 1e-5)], None)]  # of no step that the schedule has
    paper = _rate(4000, 512, 4000, 1.0)
    for settings, d_model, recorded, kept in [*_checkpoints(), *cases]:
        said, last = str(content.describe_trained(settings, d_model, recorded, kept)), settings.max_steps
        step, rate, times, whole = re.match(
            rf"After ([\d,]+) steps of warm-up the rate was ({TINY})\. That is ([\d.e-]+) times the paper's peak, "
            rf"({TINY}) at step 4,000\.",
            said,
        ).groups()
        true = _trained(int(number(step)), d_model, settings)
        assert int(number(step)) == min(settings.warmup_steps, last) and as_scientific(rate, true)
        assert _is(times, true / paper) and as_scientific(whole, paper)
        cool = re.search(rf"Over its last ([\d,]+) steps it cools down to ({TINY}) at step ([\d,]+)\.", said)
        assert bool(cool) == (settings.cooldown_steps > 0)
        if cool:
            assert (number(cool[1]), number(cool[3])) == (settings.cooldown_steps, last)
            assert as_scientific(cool[2], _trained(last, d_model, settings))
        told = re.search(r"The weights kept are those of step ([\d,]+)\.", said)
        assert bool(told) == (kept is not None and kept < last) and (not told or number(told[1]) == kept)
        recorded = [(at, rate) for at, rate in recorded if 0 < at <= last]
        if not recorded:
            assert said.endswith("wrote no rates down, so this is the formula alone.")
            continue
        count, apart = re.search(rf"Of the ([\d,]+) rates? that .* differs by ({TINY}) of itself", said).groups()
        worst = max(abs(rate / _trained(at, d_model, settings) - 1) for at, rate in recorded)
        assert number(count) == len(recorded) and (as_scientific(apart, worst) or worst < 1e-12)
        assert ("rounding to six digits" in said) == (worst < 1e-5)
