"""Laws of the findings on early exits: decoding from a memory made by hand, and logits of every decoder layer."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch
from support.texts import SENTENCES
from support.traces import loaded, stream_of, trace_of

from headlight.views.research.logit_lens import describe_early, describe_lens, lens_rows
from transformer.decoding.sampling import Hypothesis
from transformer.interpret.residual import decoder_lens, kept_positions, logit_lens

TEXTS = ("I love my teacher.", "I think that he has never read this book.", "Good morning.")
CASES = [("en-de", text) for text in TEXTS] + [("reverse", "abc def")]


@torch.inference_mode()
def greedy(model, memory, length):
    """Greedy decoding from a memory, anew from the first token at each step."""
    fed = [model.config.begin_id]
    while len(fed) <= length and fed[-1] != model.config.end_id:
        causal = torch.ones(1, 1, len(fed), len(fed), dtype=torch.bool).tril()
        logits = model.output_projection(model.decode(torch.tensor([fed]), memory, causal, None))[0, -1]
        logits[list(model.config.never_chosen)] = -torch.inf
        fed.append(int(logits.argmax()))
    return tuple(fed[1:])


def check_early(translations, same):
    """Compare the finding with the layers, [embeddings and layers], that give the translation."""
    finding, names = describe_early(translations), ["embeddings", *(f"layer {at}" for at in range(1, len(same)))]
    at, is_alone = finding["start"], same.count(True) == 1 and len(same) > 1
    assert all(same[at:]) and (at == 0 or not same[at - 1]), "the earliest from which all do"
    assert finding.name == ("only_last" if is_alone else "from_layer" if at else "from_embeddings")
    earlier = [name for name, is_same in zip(names[:at], same, strict=False) if is_same]
    assert ("also" in finding) == bool(earlier)
    if earlier:
        assert (list(finding["also"]), finding["missing"]) == (earlier, names[at - 1])
    first, last = translations[0], translations[-1].ids
    assert (finding["written"], finding["final"]) == (len(first.ids), len(last))
    assert ("endless" in finding) == (not first.finished)
    rest, places = iter(last), kept_positions(first.ids, last)
    assert finding["kept"] == len(places) and all(first.ids[each] in rest for each in sorted(places))
    return bool(earlier)


@pytest.mark.parametrize("name, text", CASES)
def test_the_layers_that_give_the_translation_are_those_of_greedy_decoding(name, text):
    model, trace, stack = loaded(name).model, trace_of(name, text), stream_of(name, text).encoder
    vectors = [stack.start, *(stack.of_layer(layer)[-1].after for layer in range(len(model.encoder)))]
    with torch.inference_mode():
        memories = [model.encoder_norm(torch.tensor(vector)[None]) for vector in vectors]
    same = [greedy(model, memory, len(trace.target_ids)) == trace.target_ids for memory in memories]
    check_early(decoder_lens(model, trace.source_ids), same)


def test_the_first_layer_is_the_one_after_which_none_lacks_the_translation():
    """Over random translations from each layer, of few tokens, so that they are often the last one's."""
    random, seen = np.random.default_rng(5), set()
    for _ in range(300):
        ids = [tuple(random.integers(0, 2, random.integers(1, 3)).tolist()) for _ in range(random.integers(2, 6))]
        translations = [Hypothesis(each, -1.0, -1.0, bool(random.integers(2))) for each in ids]
        seen.add(check_early(translations, [each == ids[-1] for each in ids]))
    assert seen == {True, False}


def test_no_choice_of_tokens_in_the_same_order_is_longer_than_the_kept_ones():
    random = np.random.default_rng(2)
    for _ in range(60):
        ids, last = (tuple(random.integers(0, 4, size).tolist()) for size in random.integers(0, 7, 2))
        positions = kept_positions(ids, last)
        assert tuple(ids[at] for at in sorted(positions)) in set(combinations(last, len(positions)))
        longer = set(combinations(ids, len(positions) + 1)) & set(combinations(last, len(positions) + 1))
        assert not longer


def lens_probabilities(name: str, text: str) -> np.ndarray:
    """softmax of every layer's vectors times the embedding's rows, in float64: [layers + 1, steps, vocab]."""
    model, stream = loaded(name).model, stream_of(name, text)
    rows = [stream.decoder.start]
    for layer in range(len(model.decoder)):
        rows.append([part.after for part in stream.decoder.sublayers if part.layer == layer][-1])
    vectors = np.asarray(rows, dtype=np.float64)
    if name == "reverse":
        gamma, beta = (part.detach().double().numpy() for part in (model.decoder_norm.weight, model.decoder_norm.bias))
        centred = vectors - vectors.mean(-1, keepdims=True)
        vectors = centred / np.sqrt(centred.var(-1, keepdims=True) + model.decoder_norm.eps) * gamma + beta
    logits = vectors @ model.output_projection.weight.detach().double().numpy().T
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


@pytest.mark.parametrize(
    ("name", "text"), [*(("en-de", text) for text in SENTENCES[:-1:2]), ("reverse", "a b c d"), ("reverse", "x")]
)
def test_the_lens_knows_the_layer_from_which_a_final_token_leads_and_the_worst_rank(name, text):
    trace = trace_of(name, text)
    lens, probabilities = logit_lens(loaded(name).model, stream_of(name, text), trace.target_ids), None
    probabilities = lens_probabilities(name, text)
    steps = range(len(trace.target_ids))
    final = np.array([[layer[step][trace.target_ids[step]] for step in steps] for layer in probabilities])
    ranks = 1 + (probabilities > final[..., None]).sum(-1)
    finding, first = describe_lens(lens, trace), {}
    for step in steps:
        since = len(ranks)
        while since and ranks[since - 1, step] == 1:
            since -= 1
        first[since] = first.get(since, 0) + 1
    assert {part["row"]: part["steps"] for part in finding["leads"]} == first
    assert [part.name == "never_leads" for part in finding["leads"]] == [row == len(ranks) for row in sorted(first)]
    early = sum(count for since, count in first.items() if since < len(ranks) - 1)
    assert (finding["early"], finding["tokens"]) == (early, len(steps))
    worst = finding["step"] - 1
    assert finding["token"] == trace.target_tokens[worst]
    assert np.allclose([each["rank"] for each in finding["ranks"]], ranks[:, worst], rtol=0.01, atol=1)
    means = [np.prod(ranks[:, step].astype(np.float64)) ** (1 / len(ranks)) for step in steps]
    assert means[worst] >= max(means) * 0.999
    np.testing.assert_allclose(lens.probabilities, final, atol=1e-5)
    best = np.take_along_axis(probabilities, lens.best_ids[..., :1], axis=-1)[..., 0]
    assert (best >= probabilities.max(-1) * (1 - 1e-4)).all()
    rows = lens_rows(lens, lambda id: f"▁#{id}")
    assert [(len(cells), cells[-1].partition("\n")[0]) for _, cells in rows] == [
        (len(steps), f"#{row[-1, 0]}") for row in lens.best_ids
    ]


def test_a_token_that_no_layer_expects_is_counted_apart():
    trace = trace_of("en-de", "I love my teacher.")
    lens = logit_lens(loaded("en-de").model, stream_of("en-de", "I love my teacher."), trace.target_ids[::-1])
    count, finding = len(trace.target_ids), describe_lens(lens, trace)
    assert (finding["early"], finding["tokens"]) == (0, count)
    assert [(part.name, part["steps"]) for part in finding["leads"]] == [("never_leads", count)]
    forced = finding["step"]
    free = describe_lens(lens, replace(trace, num_forced=forced))
    assert free["tokens"] == count - forced and free["step"] > forced, "a forced token counts nowhere"
