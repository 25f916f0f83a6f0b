"""Laws of the sentences on early layers: the decoder run on a memory made by hand, and logits of unobserved passes."""

import re
from itertools import combinations

import numpy as np
import pytest
import torch
from support.claims import number
from support.small import random_ids, unlike_model
from support.streams import loaded, stream_of, trace_of

from headlight.views.why.early_layers import describe_lens, describe_parts, logit_words
from transformer.interpret.residual import decoder_lens, kept_positions
from transformer.interpret.what_if.logit_attribution import attribute_logit

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


@pytest.mark.parametrize("name, text", CASES)
def test_from_which_layers_the_translation_is_there_is_what_greedy_decoding_from_them_finds(name, text):
    model, trace, stack = loaded(name).model, trace_of(name, text), stream_of(name, text).encoder
    vectors = [stack.start, *(stack.of_layer(layer)[-1].after for layer in range(len(model.encoder)))]
    with torch.inference_mode():
        memories = [model.encoder_norm(torch.tensor(vector)[None]) for vector in vectors]
    same = [greedy(model, memory, len(trace.target_ids)) == trace.target_ids for memory in memories]
    found = decoder_lens(model, trace.source_ids)
    layers, written, kept, count = re.search(
        r"very translation from: (.+?)\. .* it writes ([\d,]+) tokens?(?: and goes on)?; (\d+) of the "
        r"translation's (\d+) ",
        describe_lens(found),
    ).groups()
    names = ["embeddings", *(f"layer {layer}" for layer in range(1, len(same)))]
    assert layers.split(", ") == [each for each, there in zip(names, same, strict=True) if there]
    assert (int(written), int(count)) == (len(found[0].ids), len(trace.target_ids))
    rest = iter(trace.target_ids)
    at = kept_positions(found[0].ids, trace.target_ids)
    assert int(kept) == len(at) and all(found[0].ids[each] in rest for each in sorted(at)), "they stand in its order"


def test_as_many_tokens_are_kept_as_any_choice_of_them_that_stands_in_the_order():
    random = np.random.default_rng(2)
    for _ in range(60):
        ids, last = (tuple(random.integers(0, 4, size).tolist()) for size in random.integers(0, 7, 2))
        kept = kept_positions(ids, last)
        assert tuple(ids[at] for at in sorted(kept)) in set(combinations(last, len(kept)))
        longer = set(combinations(ids, len(kept) + 1)) & set(combinations(last, len(kept) + 1))
        assert not longer


@pytest.mark.parametrize("name, text", CASES)
def test_the_parts_are_said_to_sum_to_what_an_unobserved_pass_has(name, text):
    model, trace = loaded(name).model, trace_of(name, text)
    for step in range(0, len(trace.target_ids), 2):
        assert_parts(model, trace.source_ids, trace.decoder_input_ids[: step + 1], trace.target_ids[step], None)
        assert_parts(
            model,
            trace.source_ids,
            trace.decoder_input_ids[: step + 1],
            trace.target_ids[step],
            int(trace.candidate_ids[step, 1]),
        )


def test_they_are_so_for_one_layer_of_one_head_and_where_every_part_takes():
    model = unlike_model(num_encoder_layers=1, num_decoder_layers=1, num_heads=1)
    source, fed = [*random_ids(4).tolist(), 3], [2, 9]
    for token in range(4, 31):
        assert_parts(model, source, fed, token, None)


def assert_parts(model, source, fed, token, against):
    """What is said sums to the logit of a pass, and the kind, head and feed-forward that are named add the most."""
    with torch.inference_mode():
        logits = model(torch.tensor([source]), torch.tensor([fed]))[0, -1].double()
    found = attribute_logit(model, source, fed, token, against)
    words = describe_parts(found, logit_words("x", None if against is None else "y"))
    assert (" minus that of “y” is" in words) == (against is not None)
    said = re.search(
        r"All parts sum to (\S+); .*? is (\S+)\. Largest kind: (\S+), (\S+)\. Largest head: (.+?) layer (\d+), "
        r"head (\d+), (\S+)\. Largest feed-forward: layer (\d+), (\S+)\.",
        words,
    ).groups()
    expected = float(logits[token] - (0 if against is None else logits[against]))
    assert [number(said[0]), number(said[1])] == pytest.approx([expected] * 2, abs=0.0052)
    sums = {
        "embedding": found.embedding,
        "position": found.position,
        "self-attention": np.sum(found.decoder),
        "cross-attention": np.sum(found.cross),
        "feed-forward": np.sum(found.feed_forward),
        "biases": found.biases,
    }
    heads = {"masked decoder self-attention": found.decoder, "cross-attention": found.cross}
    layer, head, of_feed_forward = (int(said[at]) - 1 for at in (5, 6, 8))
    named = sums[said[2]], heads[said[4]][layer, head], found.feed_forward[of_feed_forward]
    most = max(sums.values()), max(found.decoder.max(), found.cross.max()), max(found.feed_forward)
    assert named == most and [number(said[at]) for at in (3, 7, 9)] == pytest.approx(most, abs=0.0051)
