"""Laws of the captions on early layers: the decoder run on a memory made by hand, and logits of unobserved passes."""

import re

import numpy as np
import pytest
import torch
from support.streams import loaded, stream_of, trace_of

from headlight.views.why.early_layers_text import describe_lens, describe_parts, kept_places, logit_words
from transformer.interpret.what_if.decoder_lens import decoder_lens
from transformer.interpret.what_if.logit_attribution import attribute_logit

TEXTS = ("I love my teacher.", "I think that he has never read this book.", "Good morning.")
CASES = [("en-de", text) for text in TEXTS] + [("reverse", "abc def")]


@torch.inference_mode()
def greedy(model, memory, length):
    """Greedy decoding from a memory, anew from the first token at each step."""
    fed = [model.config.begin_id]
    ids = torch.tensor([fed])
    while len(fed) <= length and fed[-1] != model.config.end_id:
        ids = torch.tensor([fed])
        causal = torch.ones(1, 1, len(fed), len(fed), dtype=torch.bool).tril()
        logits = model.output_projection(model.decode(ids, memory, causal, None))[0, -1]
        logits[list(model.config.never_chosen)] = -torch.inf
        fed.append(int(logits.argmax()))
    return tuple(fed[1:])


@pytest.mark.parametrize("name, text", CASES)
def test_from_which_layer_on_the_translation_is_there_is_what_greedy_decoding_from_it_finds(name, text):
    model, trace, stack = loaded(name).model, trace_of(name, text), stream_of(name, text).encoder
    vectors = [stack.start, *(stack.of_layer(layer)[-1].after for layer in range(len(model.encoder)))]
    with torch.inference_mode():
        memories = [model.encoder_norm(torch.tensor(vector)[None]) for vector in vectors]
    same = [greedy(model, memory, len(trace.next_ids)) == trace.next_ids for memory in memories]
    found = decoder_lens(model, trace.source_ids)
    words = describe_lens(found)
    first = same.index(True)
    if first == len(same) - 1:
        assert words.startswith("Only from the last layer")
    else:
        assert f"already from {'the embeddings' if not first else f'layer {first}'}" in words
    said = re.search(r"though not from (.+?)\.", words)
    missing = [f"layer {layer}" for layer in range(first + 1, len(same)) if not same[layer]]
    assert (said[1].split(" and ") if said else []) == missing
    if not same[0]:
        written, kept, count = re.search(r"it writes ([\d,]+) tokens?, among them (\d+) of the (\d+)", words).groups()
        assert (int(written), int(count)) == (len(found[0].ids), len(trace.next_ids))
        places = kept_places(found[0].ids, trace.next_ids)
        assert int(kept) == len(places)
        rest = iter(trace.next_ids)
        assert all(found[0].ids[place] in rest for place in sorted(places)), "they stand in its order"


@pytest.mark.parametrize("name, text", CASES)
def test_the_parts_are_said_to_sum_to_what_an_unobserved_pass_has(name, text):
    model, trace = loaded(name).model, trace_of(name, text)
    with torch.inference_mode():
        logits = model(torch.tensor([trace.source_ids]), torch.tensor([trace.fed_ids]))[0].double()
    for step in range(0, len(trace.next_ids), 2):
        token, other = trace.next_ids[step], int(trace.candidate_ids[step, 1])
        for against in (None, other):
            found = attribute_logit(model, trace.source_ids, trace.fed_ids[: step + 1], token, against)
            words = describe_parts(found, logit_words("x", None if against is None else "y"))
            expected = float(logits[step, token] - (0 if against is None else logits[step, against]))
            total, run = re.search(r"All parts sum to (\S+), .*? \((\S+) in the run itself\)", words).groups()
            assert [float(each.replace("−", "-")) for each in (total, run)] == pytest.approx([expected] * 2, abs=0.0052)
            assert " minus that of “y” (" in words if against is not None else " minus" not in words
            assert_largest(words, found)


def assert_largest(words, found):
    """The kind, the head and the feed-forward that are named add the most."""
    kind, most = re.search(r"Of the kinds, (\S+) adds the most, (\S+)\.", words).groups()
    sums = {
        "embedding": found.embedding,
        "position": found.position,
        "self-attention": np.sum(found.decoder),
        "cross-attention": np.sum(found.cross),
        "feed-forward": np.sum(found.feed_forward),
        "biases": found.biases,
    }
    assert f"{max(sums.values()):.2f}" == most.replace("−", "-") and sums[kind] == max(sums.values())
    said = re.search(r"Of the heads, (.+?) layer (\d+), head (\d+) does: (\S+);.* layer (\d+): (\S+)\.", words).groups()
    heads = {"masked decoder self-attention": found.decoder, "cross-attention": found.cross}[said[0]]
    best = max(found.decoder.max(), found.cross.max())
    assert heads[int(said[1]) - 1, int(said[2]) - 1] == best and f"{best:.2f}" == said[3].replace("−", "-")
    assert int(said[4]) == found.feed_forward.argmax() + 1
    assert f"{found.feed_forward.max():.2f}" == said[5].replace("−", "-")
