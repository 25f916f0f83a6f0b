"""Temperature, top-k and top-p against the textbook, and the confidence against a pass by hand."""

import math

import numpy as np
import pytest
import torch
from support.models import unlike_model
from support.tolerance import near

from transformer.data.batching import Example
from transformer.decoding.sampling import truncate
from transformer.evaluation import Confidence, concatenate, measure_confidence

LOGITS = np.array([1.0, 3.0, -2.0, 2.0, 0.0])


def test_without_a_cut_it_is_softmax():
    result = truncate(LOGITS)
    expected = torch.tensor(LOGITS).softmax(-1).numpy()
    for array in (result.own, result.scaled, result.final):
        assert np.allclose(array, expected)
    assert (
        result.kept.all()
        and result.scaled[result.kept].sum() == pytest.approx(1)
        and result.order.tolist() == [1, 3, 0, 4, 2]
    )


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5])
def test_the_temperature_divides_the_logits(temperature):
    result = truncate(LOGITS, temperature)
    assert np.allclose(result.final, torch.tensor(LOGITS / temperature).softmax(-1).numpy())
    assert np.allclose(result.own, torch.tensor(LOGITS).softmax(-1).numpy())


def test_top_k_keeps_the_best_and_shares_out_what_it_cut_off():
    result = truncate(LOGITS, top_k=2)
    assert np.flatnonzero(result.kept).tolist() == [1, 3]
    assert result.final[1] == pytest.approx(1 / (1 + math.exp(-1))) and result.final.sum() == pytest.approx(1)


@pytest.mark.parametrize("top_p", [0.01, 0.5, 0.9, 0.97, 0.999])
def test_top_p_keeps_the_fewest_that_reach_it(top_p):
    result = truncate(LOGITS, top_p=top_p)
    kept = [place for place in result.order if result.kept[place]]
    assert kept == result.order[: len(kept)].tolist() and result.scaled[result.kept].sum() >= top_p
    assert len(kept) == 1 or result.scaled[kept[:-1]].sum() < top_p


def test_top_p_counts_what_top_k_left():
    both = truncate(LOGITS, top_k=2, top_p=0.7)
    assert np.flatnonzero(both.kept).tolist() == [1]  # 0.73 of the two's mass, but less of all
    assert np.flatnonzero(truncate(LOGITS, top_p=0.7).kept).tolist() == [1, 3]


def test_the_fewest_that_hold_half_are_one_of_two_equal_ones():
    assert truncate(np.zeros(2), top_p=0.5).kept.tolist() == [True, False]


def test_what_is_too_improbable_to_count_is_kept_where_nothing_is_cut_off():
    assert truncate(np.array([50.0, 0.0, 0.0])).kept.all()


def test_equal_logits_stand_in_the_order_of_their_ids():
    assert truncate(np.tile([0.0, 1.0], 20)).order.tolist() == [*range(1, 40, 2), *range(0, 40, 2)]


def test_what_is_forbidden_is_never_drawn_though_it_were_the_best():
    result = truncate(LOGITS, top_k=2, forbidden=(1, 4))
    assert np.flatnonzero(result.kept).tolist() == [0, 3] and result.forbidden == (1, 4)
    assert result.final[3] == pytest.approx(1 / (1 + math.exp(-1))) and result.final[1] == 0
    assert np.flatnonzero(truncate(LOGITS, top_p=0.01, forbidden=(1,)).kept).tolist() == [3]


def test_the_logits_stay_beside_what_became_of_them_in_float64():
    result = truncate(LOGITS.astype(np.float32), temperature=0.5)
    assert result.logits.tolist() == LOGITS.tolist() and result.logits.dtype == result.own.dtype == np.float64


@pytest.mark.parametrize(
    "options", [{"temperature": 0}, {"temperature": math.nan}, {"top_k": -1}, {"top_p": 0}, {"top_p": 1.1}]
)
def test_what_cannot_be_is_refused(options):
    with pytest.raises(ValueError, match="cannot truncate"):
        truncate(LOGITS, **options)


def test_the_confidence_is_that_of_each_token_alone():
    model = unlike_model(3)
    generator = np.random.default_rng(1)
    examples = [
        Example(
            (*generator.integers(4, 31, size=size).tolist(), 3),
            (2, *generator.integers(4, 31, size=size + 1).tolist(), 3),
        )
        for size in (2, 5, 3, 7, 4)
    ]
    result = concatenate([measure_confidence(model, examples[:2]), measure_confidence(model, examples[2:])])
    expected = []
    with torch.inference_mode():
        for example in examples:
            probabilities = model(torch.tensor([example.source]), torch.tensor([example.target[:-1]]))[0].softmax(-1)
            for row, following in zip(probabilities, example.target[1:], strict=True):
                expected.append((float(row.max()), int(row.argmax()) == following, float(row[following])))
    found = sorted(zip(result.best.tolist(), result.right.tolist(), result.reference.tolist(), strict=True))
    assert np.array(found) == near(np.array(sorted(expected)))


def test_calibration_counts_every_token_once():
    result = Confidence(np.array([0.05, 0.55, 0.58, 1.0]), np.array([False, True, False, True]), np.zeros(4))
    assert result.calibration() == [(0.05, 0.0, 1), (pytest.approx(0.565), 0.5, 2), (1.0, 1.0, 1)]
