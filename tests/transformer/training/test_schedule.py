"""The learning rate over the steps."""

import pytest

from transformer.config import TrainingConfig
from transformer.training.optimization import learning_rate, noam_rate


def test_the_rate_peaks_at_the_last_step_of_warm_up():
    rates = {step: noam_rate(step, 256, 400) for step in range(1, 2000)}
    assert max(rates, key=rates.get) == 400
    assert rates[400] == pytest.approx(256**-0.5 * 400**-0.5)


def test_the_rate_rises_linearly_and_falls_with_the_root_of_the_step():
    assert noam_rate(100, 256, 400) == pytest.approx(noam_rate(400, 256, 400) / 4)
    assert noam_rate(1600, 256, 400) == pytest.approx(noam_rate(400, 256, 400) / 2)


def test_the_papers_base_model_peaks_at_seven_ten_thousandths():
    assert noam_rate(4000, 512, 4000) == pytest.approx(6.99e-4, rel=1e-3)


def test_a_smaller_model_learns_faster():
    assert noam_rate(7, 128, 400) == pytest.approx(2 * noam_rate(7, 512, 400))


def test_steps_count_from_one():
    with pytest.raises(ValueError, match="count from 1, got 0"):
        noam_rate(0, 256, 400)


def test_a_constant_schedule_warms_up_to_its_factor_and_stays():
    training = TrainingConfig(schedule="constant", rate_factor=0.002, warmup_steps=10, max_steps=100)
    assert learning_rate(5, 256, training) == pytest.approx(0.001)
    assert learning_rate(10, 256, training) == learning_rate(100, 256, training) == pytest.approx(0.002)


def test_the_rate_cools_down_linearly_to_almost_zero_over_the_last_steps():
    training = TrainingConfig(
        schedule="constant", rate_factor=1.0, warmup_steps=1, max_steps=100, cooldown_steps=20, save_every=1
    )
    assert learning_rate(80, 256, training) == 1.0
    assert [learning_rate(step, 256, training) for step in (81, 90, 100)] == pytest.approx([20 / 21, 11 / 21, 1 / 21])


def test_the_factor_multiplies_the_noam_rate():
    training = TrainingConfig(rate_factor=2.0, warmup_steps=400)
    assert learning_rate(123, 256, training) == pytest.approx(2 * noam_rate(123, 256, 400))
