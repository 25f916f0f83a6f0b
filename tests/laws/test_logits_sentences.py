"""Laws of the sentences on logits: each number and each claim, counted again from the raw logits and vectors."""

import re

import numpy as np
import pytest
from support.captions import PERCENT, as_percent, as_printed, number
from support.texts import SENTENCES
from support.traces import loaded, stream_of, trace_of

from headlight.views.decoding.candidates_content import describe_cut, logit_by_hand, softmax_by_hand
from headlight.views.research.calibration import describe_confidence
from transformer.decoding.sampling import truncate
from transformer.evaluation import Confidence
from transformer.experiments.training import Smoothing

_CUTS = ((1.0, 0, 1.0), (0.1, 0, 1.0), (3.0, 0, 1.0), (1.0, 1, 1.0), (1.0, 5, 1.0), (2.0, 50, 0.9), (1.0, 0, 0.05))


def _exps(logits: np.ndarray, temperature: float = 1.0) -> np.ndarray:
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
        said = logit_by_hand(stream.decoder.end[step], weight[best], logits[best], 0.5)
        named = re.findall(r"(−?[\d.]+) × (−?[\d.]+) \(dimension (\d+)\)", said)
        places = [int(place) - 1 for *_, place in named]
        for (one, other, _), place in zip(named, places, strict=True):
            assert as_printed(one, hidden[place]) and as_printed(other, row[place])
        products = hidden * row
        left = np.delete(products, places)
        assert len(places) == 4 and abs(left).max() <= abs(products[places]).min()
        count, rest, bias, total, model = re.search(
            r"\+ (\d+) other products (\S+) \+ bias (\S+) = (\S+)\. The model has (\S+), difference 5·10⁻¹\.$", said
        ).groups()
        assert int(count) == len(left) and as_printed(rest, left.sum()) and bias == "0.5000"
        assert as_printed(total, products.sum() + 0.5) and as_printed(model, logits[best])

        id, powers = trace.target_ids[step], np.exp(logits.astype(np.float64) - float(logits.max()))
        own, top, power, total, share, count, model = re.match(
            r"exp\((−?[\d.]+) − \(?(−?[\d.]+)\)?\) / Σ exp\(.*\) = ([\d.]+) / ([\d.]+) = ([\d.]+), over all ([\d,]+) "
            r"tokens\. The model has ([\d.]+),",
            softmax_by_hand(truncate(logits), id, float(trace.target_probabilities[step])),
        ).groups()
        assert as_printed(own, logits[id]) and as_printed(top, logits.max()) and number(count) == len(logits)
        assert as_printed(power, powers[id]) and as_printed(total, powers.sum())
        assert as_printed(share, powers[id] / powers.sum()) and as_printed(model, trace.target_probabilities[step])


def _logits() -> list[np.ndarray]:
    made = ([3.0, 1.0, 0.5, 0.2], [1.0, 1.0, 1.0, 1.0], [0.0, 40.0, -40.0, 0.0])
    return [*map(np.array, made), *(stream_of("en-de", text).logits[-1] for text in SENTENCES[::8])]


@pytest.mark.parametrize("temperature, top_k, top_p", _CUTS)
@pytest.mark.parametrize("never", [(), (0, 2)])
def test_a_cut_says_how_many_tokens_may_be_drawn_and_what_the_best_gets(temperature, top_k, top_p, never):
    for logits in _logits():
        said = str(describe_cut(truncate(logits, temperature, top_k, top_p, never), lambda id: f"#{id}", temperature))
        own, scaled = _exps(logits), _exps(logits, temperature)
        kept = _kept(scaled, top_k, top_p, never)
        mass = sum(scaled[id] for id in kept)
        count, of, best, drawn, plain, tempered, at, lost = re.match(
            rf"([\d,]+) of ([\d,]+) tokens may be drawn, “#(\d+)” with ({PERCENT})\. It has ({PERCENT}) by the "
            rf"logits(?:, ({PERCENT}) at temperature (\S+))?\. What is cut off held ({PERCENT}) before\.",
            said,
        ).groups()
        best = int(best)
        assert (number(count), number(of), float(at or 1)) == (len(kept), len(logits), temperature)
        assert best in kept and own[best] == max(own[id] for id in kept), "what may not be drawn is not said to be"
        assert as_percent(plain, own[best]) and (not at or as_percent(tempered, scaled[best]))
        assert as_percent(drawn, scaled[best] / mass)
        assert as_percent(lost, max(0.0, 1 - mass)) or mass > 1 - 1e-6
        assert [int(id) for id in re.findall(r"#(\d+)", said)][1:] == list(never)


def _kept(scaled, top_k, top_p, never) -> set[int]:
    """The ids that stay, taken one after the other, the most probable first."""
    falling = [id for id in sorted(range(len(scaled)), key=lambda id: -scaled[id]) if id not in never]
    falling = falling[: top_k or None]
    whole, held, kept = sum(scaled[id] for id in falling), 0.0, set()
    for id in falling:
        if held >= top_p * whole and kept and top_p < 1:
            break
        kept.add(id)
        held += scaled[id]
    return kept


@pytest.mark.parametrize("epsilon", [None, 0.0, 0.1])
def test_confidence_tells_mean_accuracy_percentile_and_what_exceeds_the_losss_minimum(epsilon):
    generator = np.random.default_rng(1)
    for own in (generator.beta(4, 1, 500), np.full(7, 0.9), np.array([0.2, 0.99996, 0.99999, 0.99998])):
        measured = Confidence(own, generator.random(len(own)) < own, own)
        smoothing = None if epsilon is None else Smoothing(epsilon, 50)
        said, best = str(describe_confidence(measured, smoothing)), sorted(map(float, own))
        right, count, mean = re.match(
            rf"The top-1 prediction is right in ({PERCENT}) of ([\d,]+) tokens\. Its mean probability is ({PERCENT})\.",
            said,
        ).groups()
        assert number(count) == len(best) and as_percent(mean, sum(best) / len(best))
        assert as_percent(right, sum(map(bool, measured.right)) / len(best))
        least = re.search(
            rf"ε = (\S+), the loss .* least at ({PERCENT}), above which ({PERCENT}) of the tokens lie\.$", said
        )
        assert bool(least) == bool(epsilon), "without smoothing nothing can lie above 1"
        if least:
            bound = 1 - epsilon + epsilon / 50
            assert float(least[1]) == epsilon and as_percent(least[2], bound)
            assert as_percent(least[3], sum(value > bound for value in best) / len(best))
