"""Laws of the captions on the learning rate: the schedule computed step by step, from equation 3 of the paper."""

import itertools
import math
import re
from dataclasses import replace

import pytest
from support.claims import TINY, as_scientific, number, scientific_number
from support.streams import loaded

from headlight.views.training import learning_rate_text as captions
from transformer.config import TrainingConfig
from transformer.training.optimization import Noam

_SETTINGS = [(512, 400, 1.0), (512, 401, 1.0), (512, 800, 1.0), (514, 400, 1.0), (128, 400, 1.0), (512, 400, 0.5)]
_SETTINGS += [(512, 1, 1.0), (512, 400, 1.0002), (256, 800, 1.0), (2, 7, 1000.0), (2048, 100, 1.0)]


def _rate(step: int, d_model: int, warmup: int, factor: float) -> float:
    return factor / math.sqrt(d_model) * min(1 / math.sqrt(step), step / warmup**1.5)


def _close(text: str, value: float) -> bool:
    """Whether these digits are the value's, and "1" not written of another."""
    digits = len(text.split("e")[0].replace(".", "").lstrip("0"))
    return float(text) == pytest.approx(value, rel=0.51 * 10.0 ** (1 - max(3, digits))) and (
        float(text) != 1 or math.isclose(value, 1)
    )


@pytest.mark.parametrize("one, other", list(itertools.permutations(_SETTINGS, 2)))
def test_how_two_curves_differ(one, other):
    curves = [Noam(*one), Noam(*other)]
    last = 5 * max(one[1], other[1])
    rates = [curve.rates(last) for curve in curves]
    own, others = ([_rate(step, *setting) for step in range(1, last + 1)] for setting in (one, other))
    said = captions.describe_rates(curves, rates, logarithmic=True)
    peak, later, share = re.match(
        r"Curve 1 rises until step ([\d,]+) and falls from there: at step ([\d,]+), four times as late, its rate is "
        r"([\d.]+) of the peak\.",
        said,
    ).groups()
    top = own.index(max(own))
    assert int(number(peak)) == top + 1 == one[1] and int(number(later)) == 4 * one[1]
    assert _close(share, own[4 * top + 3] / own[top])
    slopes = [number(each) for each in re.findall(r"([+−]\d\.\d\d) (?:before the peak|after it)", said)]
    assert slopes == ([1, -0.5] if one[1] > 1 else [-0.5])
    assert captions.describe_rates(curves, rates, logarithmic=False).startswith(said.split(" On these axes")[0])

    high = max(others) / max(own)
    changed = [
        (noun, other[at] / one[at])
        for at, noun in ((1, "warm-up"), (0, "d_model"), (2, "factor"))
        if one[at] != other[at]
    ]
    times = re.search(r"its peak is (?:([\d.e+-]+) times )?as high", said)[1]
    assert math.isclose(high, 1) if times is None else _close(times, high)
    if len(changed) > 1:
        named = re.search(r"Curve 2 differs in (.*): its peak", said)[1]
        assert set(re.split(r", | and ", named)) == {noun for noun, _ in changed}
    else:
        ((noun, ratio),) = changed
        written = re.search(rf"Curve 2 has ([\d.e+-]+) times the {noun} of curve 1: ", said)[1]
        assert _close(written, ratio)
        root = re.search(r"which is 1/√([\d.e+-]*\d)", said)
        assert bool(root) == (noun != "factor")
        if root:
            assert _close(root[1], ratio) and math.isclose(high, 1 / math.sqrt(ratio))
    joined = re.search(r"and from step ([\d,]+) on the two are one: the second half knows nothing of the warm-up", said)
    assert bool(joined) == ([noun for noun, _ in changed] == ["warm-up"])
    if joined:
        start = int(number(joined[1]))
        assert all(math.isclose(a, b) for a, b in zip(own[start - 1 :], others[start - 1 :], strict=True))
        assert start == 1 or not math.isclose(own[start - 2], others[start - 2])

    tried = captions.try_rates(curves, logarithmic=True)
    factor = re.match(r"factor ([\d.e+-]+) for curve 2: its peak is then as high as that of curve 1\.$", tried)
    assert bool(factor) == (not math.isclose(high, 1))
    if factor:
        again = max(_rate(step, *other[:2], float(factor[1])) for step in range(1, last + 1))
        assert again == pytest.approx(max(own), rel=0.006)
    else:
        fell, to = re.search(rf"its peak falls from ({TINY}) to ({TINY})\.", tried).groups()
        assert as_scientific(fell, max(own)) and as_scientific(to, _rate(2 * one[1], one[0], 2 * one[1], one[2]))
    rows = captions.peak_rows(curves, rates)
    for (_, (drawn, warmup, height, formula, apart)), setting, values in zip(
        rows, (one, other), (own, others), strict=True
    ):
        assert (number(drawn), number(warmup)) == (setting[1], setting[1]) and as_scientific(height, max(values))
        assert height == formula and scientific_number(apart) < 1e-15 * max(1, max(values) * 10)


def test_a_curve_with_the_settings_of_the_first_lies_on_it():
    curves = [Noam(512, 400)] * 2
    said = captions.describe_rates(curves, [curve.rates(2000) for curve in curves], logarithmic=False)
    assert said.endswith("Curve 2 has the settings of curve 1 and lies on it.")


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
    cases = list(_checkpoints())
    plain = TrainingConfig(max_steps=100, warmup_steps=40)
    cases += [(replace(plain, warmup_steps=400), 64, [(10, 1e-5)], None), (plain, 64, [], 100), (plain, 64, [], 70)]
    paper = _rate(4000, 512, 4000, 1.0)
    for settings, d_model, recorded, kept in cases:
        said, last = captions.describe_trained(settings, d_model, recorded, kept), settings.max_steps
        ended = settings.warmup_steps <= last
        when = "At the end of its warm-up" if ended else "At its last step, still in the warm-up"
        step, rate, times, whole = re.match(
            rf"{when}, step ([\d,]+), the rate was ({TINY}): ([\d.e-]+) times the paper's peak, "
            rf"({TINY}) at step 4,000\.",
            said,
        ).groups()
        true = _trained(int(number(step)), d_model, settings)
        assert int(number(step)) == (settings.warmup_steps if ended else last) and as_scientific(rate, true)
        assert _close(times, true / paper) and as_scientific(whole, paper)
        cool = re.search(rf"Over its last ([\d,]+) steps .* almost nothing, ({TINY}) at step ([\d,]+):", said)
        assert bool(cool) == (settings.cooldown_steps > 0)
        if cool:
            low = _trained(last, d_model, settings)
            assert number(cool[1]) == settings.cooldown_steps and as_scientific(cool[2], low) and low < 0.01 * true
        told = re.search(r"The weights kept are those of step ([\d,]+)\.", said)
        assert bool(told) == (kept is not None and kept < last) and (not told or number(told[1]) == kept)
        if not recorded:
            assert said.endswith("wrote no rates down, so this is the formula alone.")
            continue
        count, apart = re.search(rf"Of the ([\d,]+) rates? that .* by more than ({TINY}) of itself", said).groups()
        worst = max(abs(rate / _trained(at, d_model, settings) - 1) for at, rate in recorded)
        assert number(count) == len(recorded) and (as_scientific(apart, worst) or worst < 1e-12)
        assert ("which is the rounding to six digits" in said) == (worst < 1e-5)
