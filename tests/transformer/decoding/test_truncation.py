"""Temperature, top-k and top-p against the textbook, and the confidence against a pass by hand."""

import math

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.models import unlike_model
from support.tolerance import near

from transformer.data.batching import Example
from transformer.decoding.sampling import truncate
from transformer.evaluation import Confidence, concatenate, measure_confidence


def truncated_by_hand(logits, temperature, top_k, top_p, forbidden) -> list[float]:
    """Return the probabilities from which sampling draws, token by token."""
    scaled = torch.tensor(logits, dtype=torch.float64).div(temperature).softmax(-1).tolist()
    ranked = [token for token in sorted(range(len(logits)), key=lambda token: -logits[token]) if token not in forbidden]
    ranked, mass, nucleus = ranked[: top_k or None], 0.0, []
    total = math.fsum(scaled[token] for token in ranked)
    for token in ranked:
        assume(abs(mass - top_p) > 1e-9)
        if mass < top_p:
            nucleus.append(token)
        mass += scaled[token] / total
    total = math.fsum(scaled[token] for token in nucleus)
    return [scaled[token] / total if token in nucleus else 0.0 for token in range(len(logits))]


@settings(deadline=None, derandomize=True, database=None, max_examples=200)
@given(
    logits=st.lists(st.integers(-12, 12).map(lambda number: number / 4), min_size=3, max_size=9),
    temperature=st.sampled_from((0.3, 1.0, 2.5)),
    top_k=st.integers(0, 10),
    top_p=st.sampled_from((0.01, 0.5, 0.7, 0.9, 0.999)),
    forbidden=st.sets(st.integers(0, 2), max_size=2),
)
def test_truncation_is_the_textbooks(logits, temperature, top_k, top_p, forbidden):
    result = truncate(np.float32(logits), temperature, top_k, top_p, tuple(forbidden))
    assert result.final == near(truncated_by_hand(logits, temperature, top_k, top_p, forbidden))
    assert (result.final > 0).tolist() == result.kept.tolist()
    assert result.own == near(torch.tensor(logits).softmax(-1)) and result.forbidden == tuple(forbidden)
    assert result.scaled == near((torch.tensor(logits) / temperature).softmax(-1))
    assert result.order.tolist() == sorted(range(len(logits)), key=lambda token: -logits[token])
    assert result.logits.tolist() == logits and result.logits.dtype == result.own.dtype == np.float64


def test_the_fewest_tokens_with_half_the_mass_are_one_of_two_equal_ones_and_without_a_cut_all_stay():
    assert truncate(np.zeros(2), top_p=0.5).kept.tolist() == [True, False]
    assert truncate(np.array([500.0, -500.0, 0.0])).kept.all()


@pytest.mark.parametrize(
    "options", [{"temperature": 0}, {"temperature": math.nan}, {"top_k": -1}, {"top_p": 0}, {"top_p": 1.1}]
)
def test_impossible_options_are_refused(options):
    with pytest.raises(ValueError, match="cannot truncate"):
        truncate(np.zeros(3), **options)


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
    measured = sorted(zip(result.best.tolist(), result.right.tolist(), result.reference.tolist(), strict=True))
    assert np.array(measured) == near(np.array(sorted(expected)))


def test_calibration_counts_every_token_once():
    result = Confidence(np.array([0.05, 0.55, 0.58, 1.0]), np.array([False, True, False, True]), np.zeros(4))
    assert result.calibration() == [(0.05, 0.0, 1), (pytest.approx(0.565), 0.5, 2), (1.0, 1.0, 1)]
