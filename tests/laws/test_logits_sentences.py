"""Laws of the findings on logits: each number counted again from raw logits and vectors."""

import numpy as np
import pytest

from headlight.views.decoding.candidates_content import describe_cut, logit_by_hand, softmax_by_hand
from headlight.views.research.calibration import describe_confidence
from transformer.decoding.sampling import truncate
from transformer.evaluation import Confidence
from transformer.experiments.training import Smoothing

CUTS = ((1.0, 0, 1.0), (0.1, 0, 1.0), (1.0, 1, 1.0), (1.0, 5, 1.0), (2.0, 50, 0.9), (1.0, 0, 0.05))


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits.astype(np.float64) - logits.max())
    return powers / powers.sum()


def test_a_logit_is_written_as_products_and_its_probability_as_a_share(random):
    for _ in range(20):
        hidden, row = random.normal(0, 1, (2, 12)).astype(np.float32)
        products = [float(one) * float(other) for one, other in zip(hidden, row, strict=True)]
        finding = logit_by_hand(hidden, row, sum(products) + 0.75, 0.5)
        places = [term["dimension"] - 1 for term in finding["terms"]]
        for term, at in zip(finding["terms"], places, strict=True):
            assert (term["hidden"], term["weight"]) == (hidden[at], row[at])
        left = np.delete(products, places)
        assert len(places) == 4 and abs(left).max() <= min(abs(products[at]) for at in places)
        assert finding["others"] == len(left) and "+ 0.5000 (bias) = " in str(finding)
        numbers = [finding[name] for name in ("rest", "total", "logit", "error")]
        assert numbers == pytest.approx([left.sum(), sum(products) + 0.5, sum(products) + 0.75, 0.25])

        logits, id = random.normal(random.choice([-20, 20]), 3, 50), int(random.integers(50))
        powers = np.exp(logits - logits.max())
        finding, share = softmax_by_hand(truncate(logits), id, 0.5), powers[id] / powers.sum()
        expected = logits[id], powers[id], powers.sum(), share, len(logits), 0.5, abs(share - 0.5)
        names = ("logit", "power", "total", "share", "tokens", "probability", "error")
        assert [finding[name] for name in names] == pytest.approx(expected)
        assert finding["largest"]["largest"] == logits.max()


@pytest.mark.parametrize("temperature, top_k, top_p", CUTS)
@pytest.mark.parametrize("never", [(), (0, 2)])
def test_a_cut_counts_the_tokens_that_may_be_drawn(random, temperature, top_k, top_p, never):
    for logits in (np.ones(4), np.array([0.0, 40, -40, 0]), random.normal(0, 3, 300)):
        cut = truncate(logits, temperature, top_k, top_p, never)
        finding, plain, scaled = describe_cut(cut, str, temperature), softmax(logits), softmax(logits / temperature)
        ids, best = np.flatnonzero(cut.retained), int(finding["best"])
        assert (finding["kept"], finding["tokens"]) == (len(ids), len(logits))
        assert best in ids and plain[best] == max(plain[ids])
        mass, numbers = scaled[ids].sum(), [finding["own"], finding["drawn"], finding["lost"]]
        assert numbers == pytest.approx([plain[best], scaled[best] / mass, 1 - mass], abs=1e-9)
        assert ("tempered" in finding) == (temperature != 1)
        if temperature != 1:
            assert finding["scaled"] == pytest.approx(scaled[best]) and finding["temperature"] == temperature
        assert ("never" in finding) == bool(never) and (not never or finding["never"] == ("0", "2"))


@pytest.mark.parametrize("epsilon", [None, 0.0, 0.1])
def test_confidence_has_mean_accuracy_and_the_share_above_the_losss_minimum(random, epsilon):
    for best in (random.beta(4, 1, 500), np.full(7, 0.9), np.array([0.2, 0.99996, 0.99999, 0.99998])):
        measured = Confidence(best, random.random(len(best)) < best, best)
        finding = describe_confidence(measured, None if epsilon is None else Smoothing(epsilon, 50))
        expected = sum(map(bool, measured.right)) / len(best), len(best), sum(map(float, best)) / len(best)
        assert (finding["right"], finding["tokens"], finding["mean"]) == pytest.approx(expected)
        assert ("smoothing" in finding) == bool(epsilon), "without smoothing nothing can lie above 1"
        if epsilon:
            bound = 1 - epsilon + epsilon / 50
            above = sum(value > bound for value in best) / len(best)
            assert (finding["epsilon"], finding["least"], finding["above"]) == pytest.approx((epsilon, bound, above))
