"""Laws of the findings on logits: each number counted again from the raw logits and vectors."""

import numpy as np
import pytest
from support.texts import SENTENCES
from support.traces import loaded, stream_of, trace_of

from headlight.views.decoding.candidates_content import describe_cut, logit_by_hand, softmax_by_hand
from headlight.views.research.calibration import describe_confidence
from transformer.decoding.sampling import truncate
from transformer.evaluation import Confidence
from transformer.experiments.training import Smoothing

CUTS = ((1.0, 0, 1.0), (0.1, 0, 1.0), (3.0, 0, 1.0), (1.0, 1, 1.0), (1.0, 5, 1.0), (2.0, 50, 0.9), (1.0, 0, 0.05))


def softmax(logits: np.ndarray, temperature: float = 1.0) -> np.ndarray:
    scaled = np.asarray(logits, dtype=np.float64) / temperature
    powers = np.exp(scaled - scaled.max())
    return powers / powers.sum()


@pytest.mark.parametrize("text", SENTENCES[::2])
def test_a_logit_and_its_probability_by_hand(text):
    weight = loaded("en-de").model.output_projection.weight.detach().numpy()
    trace, stream = trace_of("en-de", text), stream_of("en-de", text)
    for step in {0, len(trace.target_ids) // 2}:
        logits = stream.logits[step]
        best = int(logits.argmax())
        hidden, row = stream.decoder.end[step].astype(np.float64), weight[best].astype(np.float64)
        finding = logit_by_hand(stream.decoder.end[step], weight[best], logits[best], 0.5)
        places = [term["dimension"] - 1 for term in finding["terms"]]
        for term, at in zip(finding["terms"], places, strict=True):
            assert (term["hidden"], term["weight"]) == pytest.approx((hidden[at], row[at]))
        products = hidden * row
        left = np.delete(products, places)
        assert len(places) == 4 and abs(left).max() <= abs(products[places]).min()
        assert finding["others"] == len(left) and "+ bias 0.5000 = " in str(finding)
        expected = left.sum(), products.sum() + 0.5, logits[best], 0.5
        numbers = [finding[name] for name in ("rest", "total", "logit", "error")]
        assert numbers == pytest.approx(expected, abs=1e-4)

        id, powers = trace.target_ids[step], np.exp(logits.astype(np.float64) - float(logits.max()))
        probability = float(trace.target_probabilities[step])
        finding = softmax_by_hand(truncate(logits), id, probability)
        share = powers[id] / powers.sum()
        expected = logits[id], logits.max(), powers[id], powers.sum(), share, len(logits), probability, 0
        names = ("logit", "largest", "power", "total", "share", "tokens", "probability", "error")
        numbers = [finding[name]["largest"] if name == "largest" else finding[name] for name in names]
        assert numbers == pytest.approx(expected, rel=1e-5, abs=1e-5)


def some_logits() -> list[np.ndarray]:
    made = ([3.0, 1.0, 0.5, 0.2], [1.0, 1.0, 1.0, 1.0], [0.0, 40.0, -40.0, 0.0])
    return [*map(np.array, made), *(stream_of("en-de", text).logits[-1] for text in SENTENCES[::8])]


@pytest.mark.parametrize("temperature, top_k, top_p", CUTS)
@pytest.mark.parametrize("never", [(), (0, 2)])
def test_a_cut_counts_the_tokens_that_may_be_drawn(temperature, top_k, top_p, never):
    for logits in some_logits():
        cut = truncate(logits, temperature, top_k, top_p, never)
        finding, plain, scaled = describe_cut(cut, str, temperature), softmax(logits), softmax(logits, temperature)
        ids = kept_ids(scaled, top_k, top_p, never)
        mass, best = sum(scaled[id] for id in ids), int(finding["best"])
        assert (finding["kept"], finding["tokens"]) == (len(ids), len(logits))
        assert best in ids and plain[best] == max(plain[id] for id in ids)
        numbers = [finding["own"], finding["drawn"], finding["lost"]]
        assert numbers == pytest.approx([plain[best], scaled[best] / mass, 1 - mass], rel=1e-4, abs=1e-5)
        assert ("tempered" in finding) == (temperature != 1)
        if temperature != 1:
            assert finding["scaled"] == pytest.approx(scaled[best]) and finding["temperature"] == temperature
        assert ("never" in finding) == bool(never) and (not never or finding["never"] == ("0", "2"))


def kept_ids(scaled, top_k, top_p, never) -> set[int]:
    """Return the ids that stay, taken one after the other, the most probable first."""
    falling = [id for id in sorted(range(len(scaled)), key=lambda id: -scaled[id]) if id not in never]
    falling = falling[: top_k or None]
    whole, held, ids = sum(scaled[id] for id in falling), 0.0, set()
    for id in falling:
        if held >= top_p * whole and ids and top_p < 1:
            break
        ids.add(id)
        held += scaled[id]
    return ids


@pytest.mark.parametrize("epsilon", [None, 0.0, 0.1])
def test_confidence_has_mean_accuracy_and_the_share_above_the_losss_minimum(epsilon):
    generator = np.random.default_rng(1)
    for best in (generator.beta(4, 1, 500), np.full(7, 0.9), np.array([0.2, 0.99996, 0.99999, 0.99998])):
        measured = Confidence(best, generator.random(len(best)) < best, best)
        finding = describe_confidence(measured, None if epsilon is None else Smoothing(epsilon, 50))
        expected = sum(map(bool, measured.right)) / len(best), len(best), sum(map(float, best)) / len(best)
        assert (finding["right"], finding["tokens"], finding["mean"]) == pytest.approx(expected)
        assert ("smoothing" in finding) == bool(epsilon), "without smoothing nothing can lie above 1"
        if epsilon:
            bound = 1 - epsilon + epsilon / 50
            above = sum(value > bound for value in best) / len(best)
            assert (finding["epsilon"], finding["least"], finding["above"]) == pytest.approx((epsilon, bound, above))
