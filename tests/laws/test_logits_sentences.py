"""Laws of the captions on logits: each number and each claim, counted again from the raw logits and vectors."""

import re

import numpy as np
import pytest
from support.claims import PERCENT, as_percent, as_printed, number
from support.sentences import SENTENCES
from support.streams import loaded, stream_of, trace_of

from headlight.views.logits.text import describe_confidence, describe_cut, describe_lens, lens_rows, logit_by_hand
from headlight.views.logits.text import softmax_by_hand as by_softmax
from transformer.decoding.truncation import truncate
from transformer.evaluation import Confidence
from transformer.interpret.residual import logit_lens

_CUTS = ((1.0, 0, 1.0), (0.1, 0, 1.0), (3.0, 0, 1.0), (1.0, 1, 1.0), (1.0, 5, 1.0), (2.0, 50, 0.9), (1.0, 0, 0.05))
_NEVER = (0, 2)


def _exps(logits: np.ndarray, temperature: float = 1.0) -> np.ndarray:
    scaled = logits.astype(np.float64) / temperature
    powers = np.exp(scaled - scaled.max())
    return powers / powers.sum()


def _steps(text: str) -> range:
    steps = len(trace_of("en-de", text).next_ids)
    return range(0, steps, max(1, (steps + 1) // 2))


@pytest.mark.parametrize("text", SENTENCES)
def test_a_logit_by_hand_adds_up_and_names_its_largest_products(text):
    weight = loaded("en-de").model.output_projection.weight.detach().numpy()
    for step in _steps(text):
        stream = stream_of("en-de", text)
        best = int(stream.logits[step].argmax())
        hidden, row = stream.decoder.end[step], weight[best]
        said = logit_by_hand(hidden, row, stream.logits[step, best])
        products = [float(one) * float(other) for one, other in zip(hidden, row, strict=True)]
        named = re.findall(r"(−?[\d.]+) × (−?[\d.]+) \(dimension (\d+)\)", said)
        places = [int(place) - 1 for *_, place in named]
        for (one, other, _), place in zip(named, places, strict=True):
            assert as_printed(one, hidden[place]) and as_printed(other, row[place])
        left = [abs(product) for place, product in enumerate(products) if place not in places]
        assert len(places) == 4 and max(left) <= min(abs(products[place]) for place in places)
        count, rest, total, model = re.search(
            r"\+ (\d+) other products (−?[\d.]+) = (−?[\d.]+)\. The model has (−?[\d.]+)", said
        ).groups()
        assert int(count) == len(products) - 4
        assert as_printed(rest, sum(products) - sum(products[place] for place in places))
        assert as_printed(total, sum(products)) and as_printed(model, stream.logits[step, best])


@pytest.mark.parametrize("text", SENTENCES)
def test_softmax_by_hand_is_the_share_of_all_exponentials(text):
    trace, logits = trace_of("en-de", text), stream_of("en-de", text).logits
    for step in _steps(text):
        id, largest = trace.next_ids[step], logits[step].max()
        said = by_softmax(truncate(logits[step]), id, float(trace.next_probabilities[step]))
        own, top, power, total, share, count, model = re.match(
            r"exp\((−?[\d.]+) − \(?(−?[\d.]+)\)?\) / Σ exp\(.*\) = ([\d.]+) / ([\d.]+) = ([\d.]+), over all ([\d,]+) "
            r"tokens\. The model has ([\d.]+),",
            said,
        ).groups()
        powers = np.exp(logits[step].astype(np.float64) - float(largest))
        assert as_printed(own, logits[step, id]) and as_printed(top, largest) and number(count) == len(logits[step])
        assert as_printed(power, powers[id]) and as_printed(total, powers.sum())
        assert as_printed(share, powers[id] / powers.sum()) and as_printed(model, trace.next_probabilities[step])


@pytest.mark.parametrize("text", SENTENCES)
def test_a_cut_says_how_many_tokens_may_be_drawn_and_what_the_best_gets(text):
    logits = stream_of("en-de", text).logits
    for step in list(_steps(text))[-1:]:
        for temperature, top_k, top_p in _CUTS:
            _check_cut(logits[step], temperature, top_k, top_p, _NEVER)


@pytest.mark.parametrize("never", [(), (0,), (0, 2)])
@pytest.mark.parametrize("logits", [[3.0, 1.0, 0.5, 0.2], [1.0, 1.0, 1.0, 1.0], [0.0, 40.0, -40.0, 0.0]])
def test_a_cut_is_told_truly_where_the_best_is_forbidden_or_tied(logits, never):
    for temperature in (1.0, 0.1, 2.0):
        for top_k in (0, 1, 2):
            _check_cut(np.array(logits), temperature, top_k, 1.0, never)


def _check_cut(logits, temperature, top_k, top_p, never):
    said = describe_cut(truncate(logits, temperature, top_k, top_p, never), lambda id: f"#{id}", temperature)
    own, scaled = _exps(logits), _exps(logits, temperature)
    best = int(re.match(r"“#(\d+)” has", said)[1])
    assert own[best] == own.max() and as_percent(re.search(rf"has ({PERCENT}) by the logits", said)[1], own[best])
    kept = _kept(scaled, top_k, top_p, never)
    if "Nothing is truncated" in said:
        assert temperature == 1 and len(kept) == len(logits) - len(never)
        assert [int(id) for id in re.findall(r"#(\d+)", said.split("all ")[1])] == list(never)
        return
    assert (temperature != 1) == ("at temperature" in said)
    if temperature != 1:
        assert as_percent(re.search(rf", ({PERCENT}) at temperature", said)[1], scaled[best])
    count, of, noun = re.search(r"([\d,]+) (tokens?) of ([\d,]+) may still be drawn", said).group(1, 3, 2)
    assert (number(count), number(of)) == (len(kept), len(logits)) and (noun == "token") == (len(kept) == 1)
    mass = sum(scaled[id] for id in kept)
    others = re.search(rf"the others had ({PERCENT}) of the mass, .* its own ({PERCENT}):", said)
    assert bool(others) == (sum(scaled[id] for id in range(len(scaled)) if id not in kept) > 0)
    if others:
        assert as_percent(others[1], 1 - mass) or mass > 1 - 1e-6
        assert as_percent(others[2], mass)
    if best in kept:
        assert as_percent(re.search(rf"is drawn with ({PERCENT})\.$", said)[1], scaled[best] / mass)
    else:
        assert best in never and said.endswith(f"“#{best}” is never chosen in decoding.")


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


def _lens_probabilities(name: str, text: str) -> np.ndarray:
    """softmax of every layer's vectors times the embedding's rows, in float64: [layers + 1, steps, vocab]."""
    model, stream = loaded(name).model, stream_of(name, text)
    count = 1 + len(model.decoder)
    rows = [stream.decoder.start]
    for layer in range(count - 1):
        rows.append([part.after for part in stream.decoder.sublayers if part.layer == layer][-1])
    vectors = np.asarray(rows, dtype=np.float64)
    if name == "reverse":
        gamma, beta = (part.detach().double().numpy() for part in (model.decoder_norm.weight, model.decoder_norm.bias))
        centred = vectors - vectors.mean(-1, keepdims=True)
        vectors = centred / np.sqrt(centred.var(-1, keepdims=True) + model.decoder_norm.eps) * gamma + beta
    logits = vectors @ model.output_projection.weight.detach().double().numpy().T
    return np.stack([[_exps(step) for step in layer] for layer in logits])


_LENSES = [*(("en-de", text) for text in SENTENCES[:-1]), ("reverse", "a b c d"), ("reverse", "x")]


@pytest.mark.parametrize(("name", "text"), _LENSES)
def test_the_lens_tells_from_which_layer_on_the_final_token_leads_and_where_it_ranks_worst(name, text):
    trace = trace_of(name, text)
    lens = logit_lens(loaded(name).model, stream_of(name, text), trace.next_ids)
    probabilities = _lens_probabilities(name, text)
    steps = range(len(trace.next_ids))
    own = np.array([[layer[step][trace.next_ids[step]] for step in steps] for layer in probabilities])
    ranks = 1 + (probabilities > own[..., None]).sum(-1)
    said = describe_lens(lens, trace.next_tokens)
    first = {}
    for step in steps:
        since = len(ranks)
        while since and ranks[since - 1, step] == 1:
            since -= 1
        first[since] = first.get(since, 0) + 1
    places = {"start": 0, **{f"layer {layer}": layer for layer in range(1, len(ranks))}}
    told = {places[place]: int(count) for place, count in re.findall(r"from (start|layer \d+) on in (\d+)", said)}
    told |= {len(ranks): int(count) for count in re.findall(r"not even after the last layer in (\d+)", said)}
    assert told == first and f" of {len(steps)} step{'s' * (len(steps) != 1)}." in said
    step, token, listed = re.search(r"at step (\d+), “(.*)”: ([\d, ]+), from start to layer \d+\.", said).groups()
    worst = int(step) - 1
    told_ranks = [int(number(rank)) for rank in listed.split(", ")]
    assert token == trace.next_tokens[worst] and np.allclose(told_ranks, ranks[:, worst], rtol=0.01, atol=1)
    means = [np.prod(ranks[:, step].astype(np.float64)) ** (1 / len(ranks)) for step in steps]
    assert means[worst] >= max(means) * 0.999
    for row, (layer, cells) in enumerate(lens_rows(lens, lambda id: f"#{id}")):
        assert places[layer] == row and len(cells) == len(steps)
        for step, cell in enumerate(cells):
            best, chance, rank = re.fullmatch(rf"#(\d+)\n({PERCENT}), rank ([\d,]+)", cell).groups()
            assert probabilities[row, step, int(best)] >= probabilities[row, step].max() * (1 - 1e-4)
            assert abs(number(rank) - ranks[row, step]) <= max(1, 0.01 * ranks[row, step])
            value = own[row, step]
            assert as_percent(chance, value) or as_percent(chance, value * 1.0001) or as_percent(chance, value * 0.9999)


def _confidences() -> list[Confidence]:
    generator = np.random.default_rng(1)
    many = generator.beta(4, 1, 500)
    own = [many, np.full(7, 0.9), np.array([0.99999]), np.array([0.2, 0.99996, 0.99999, 0.99998])]
    return [Confidence(best, generator.random(len(best)) < best, best) for best in own]


@pytest.mark.parametrize("measured", _confidences())
@pytest.mark.parametrize(("epsilon", "reachable"), [(None, None), (0.0, None), (0.1, 0.9), (0.1, 0.90001)])
def test_confidence_tells_mean_accuracy_percentile_and_what_exceeds_the_losss_minimum(measured, epsilon, reachable):
    said = describe_confidence(measured, epsilon, reachable)
    best = sorted(float(value) for value in measured.best)
    count, mean, right, ninetieth, highest = re.match(
        rf"Over ([\d,]+) tokens? the .* probability of ([\d.]+) on average and is right in ({PERCENT}) of cases\. The "
        r"90th percentile of that probability is ([\d.]+), the highest ([\d.]+)\.",
        said,
    ).groups()
    assert number(count) == len(best) and as_printed(mean, sum(best) / len(best)) and as_printed(highest, best[-1])
    assert as_percent(right, sum(map(bool, measured.right)) / len(best))
    below = sum(value < number(ninetieth) - 5e-5 for value in best)
    above = sum(value > number(ninetieth) + 5e-5 for value in best)
    assert below <= 0.9 * len(best) + 1 and above <= 0.1 * len(best) + 1 and number(ninetieth) <= number(highest)
    exceeding = re.search(rf"top-1 probability of ({PERCENT}) of the tokens is above", said)
    assert bool(exceeding) == bool(epsilon)
    if exceeding:
        assert as_percent(exceeding[1], sum(value > reachable for value in best) / len(best))
