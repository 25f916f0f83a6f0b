"""Laws of the sentences on early exits: decoding from a memory made by hand, and logits of every decoder layer."""

import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch
from support.captions import PERCENT, as_percent, finding_text, number
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


def check_lens(text, found, same):
    """What is said of the layers, [embeddings and layers], that give the translation."""
    names = ["embeddings", *(f"layer {layer}" for layer in range(1, len(same)))]
    start, also, missing, written, kept, count = re.fullmatch(
        r"(?:From (?:the )?(.+?) on the decoder writes this very|Only the last layer writes this) translation\. "
        r"(?:It also does from (.+?), but not from (.+?)\. )?From the embeddings, .* it writes ([\d,]+) tokens?"
        r"(?: and goes on)?; (\d+) of the translation's (\d+) are there, in its order\.",
        text,
    ).groups()
    assert (start is None) == (same.count(True) == 1 and len(same) > 1), "no layer but the last"
    at, others = len(same) - 1 if start is None else names.index(start), also.split(", ") if also else []
    assert all(same[at:]) and (at == 0 or not same[at - 1]), "the earliest from which all do"
    assert others == [name for name, there in zip(names[:at], same, strict=False) if there]
    assert missing is None or missing == names[at - 1]
    assert (int(written), int(count)) == (len(found[0].ids), len(found[-1].ids))
    assert ("and goes on" in text) == (not found[0].finished)
    rest, places = iter(found[-1].ids), kept_positions(found[0].ids, found[-1].ids)
    assert int(kept) == len(places) and all(found[0].ids[each] in rest for each in sorted(places))


@pytest.mark.parametrize("name, text", CASES)
def test_from_which_layers_the_translation_is_there_is_what_greedy_decoding_from_them_finds(name, text):
    model, trace, stack = loaded(name).model, trace_of(name, text), stream_of(name, text).encoder
    vectors = [stack.start, *(stack.of_layer(layer)[-1].after for layer in range(len(model.encoder)))]
    with torch.inference_mode():
        memories = [model.encoder_norm(torch.tensor(vector)[None]) for vector in vectors]
    same = [greedy(model, memory, len(trace.target_ids)) == trace.target_ids for memory in memories]
    found = decoder_lens(model, trace.source_ids)
    check_lens(finding_text(describe_early(found)), found, same)


def test_the_layer_from_which_on_the_translation_is_there_is_the_first_with_none_after_it_that_lacks_it():
    """Over random translations from each layer, of few tokens, so that they are often the last one's."""
    random, seen = np.random.default_rng(5), set()
    for _ in range(300):
        ids = [tuple(random.integers(0, 2, random.integers(1, 3)).tolist()) for _ in range(random.integers(2, 6))]
        found = [Hypothesis(each, -1.0, -1.0, bool(random.integers(2))) for each in ids]
        text = finding_text(describe_early(found))
        check_lens(text, found, [each == ids[-1] for each in ids])
        seen.add("It also does" in text)
    assert seen == {True, False}


def test_as_many_tokens_are_kept_as_any_choice_of_them_that_stands_in_the_order():
    random = np.random.default_rng(2)
    for _ in range(60):
        ids, last = (tuple(random.integers(0, 4, size).tolist()) for size in random.integers(0, 7, 2))
        kept = kept_positions(ids, last)
        assert tuple(ids[at] for at in sorted(kept)) in set(combinations(last, len(kept)))
        longer = set(combinations(ids, len(kept) + 1)) & set(combinations(last, len(kept) + 1))
        assert not longer


def _lens_probabilities(name: str, text: str) -> np.ndarray:
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


_LENSES = [*(("en-de", text) for text in SENTENCES[:-1:2]), ("reverse", "a b c d"), ("reverse", "x")]


@pytest.mark.parametrize(("name", "text"), _LENSES)
def test_the_lens_tells_from_which_layer_on_the_final_token_leads_and_where_it_ranks_worst(name, text):
    trace = trace_of(name, text)
    lens = logit_lens(loaded(name).model, stream_of(name, text), trace.target_ids)
    probabilities = _lens_probabilities(name, text)
    steps = range(len(trace.target_ids))
    own = np.array([[layer[step][trace.target_ids[step]] for step in steps] for layer in probabilities])
    ranks = 1 + (probabilities > own[..., None]).sum(-1)
    said, first = str(describe_lens(lens, trace)), {}
    for step in steps:
        since = len(ranks)
        while since and ranks[since - 1, step] == 1:
            since -= 1
        first[since] = first.get(since, 0) + 1
    places = {"start": 0, **{f"layer {layer}": layer for layer in range(1, len(ranks))}}
    told = {places[place]: int(count) for place, count in re.findall(r"from (start|layer \d+) on in (\d+)", said)}
    told |= {len(ranks): int(count) for count in re.findall(r"not even after the last layer in (\d+)", said)}
    assert told == first
    early = sum(count for since, count in first.items() if since < len(ranks) - 1)
    assert said.startswith(f"{early} of {len(steps)} final token{'s' * (len(steps) != 1)} lead before the last layer.")
    step, token, listed = re.search(
        r"worst at step (\d+), “(.*)”: ([\d, ]+), from start to layer \d+\.$", said
    ).groups()
    worst = int(step) - 1
    told_ranks = [int(number(rank)) for rank in listed.split(", ")]
    assert token == trace.target_tokens[worst] and np.allclose(told_ranks, ranks[:, worst], rtol=0.01, atol=1)
    means = [np.prod(ranks[:, step].astype(np.float64)) ** (1 / len(ranks)) for step in steps]
    assert means[worst] >= max(means) * 0.999
    for row, (layer, cells) in enumerate(lens_rows(lens, lambda id: f"▁#{id}")):
        assert places[layer] == row and len(cells) == len(steps)
        for step, cell in enumerate(cells):
            best, chance, rank = re.fullmatch(rf"#(\d+)\n({PERCENT}), rank ([\d,]+)", cell).groups()
            assert probabilities[row, step, int(best)] >= probabilities[row, step].max() * (1 - 1e-4)
            assert abs(number(rank) - ranks[row, step]) <= max(1, 0.01 * ranks[row, step])
            assert any(as_percent(chance, own[row, step] * near) for near in (0.9999, 1, 1.0001))


def test_a_token_that_no_layer_expects_is_counted_apart():
    trace = trace_of("en-de", "I love my teacher.")
    lens = logit_lens(loaded("en-de").model, stream_of("en-de", "I love my teacher."), trace.target_ids[::-1])
    count, found = len(trace.target_ids), describe_lens(lens, trace)
    assert found.headline == f"0 of {count} final tokens lead before the last layer."
    assert f"not even after the last layer in {count}." in found.more
    worst = int(re.search(r"worst at step (\d+)", found.more)[1])
    given = describe_lens(lens, replace(trace, num_forced=worst))
    assert given.headline.startswith(f"0 of {count - worst} ") and f"last layer in {count - worst}." in given.more
    assert int(re.search(r"worst at step (\d+)", given.more)[1]) > worst, "a token that was given counts nowhere"
