"""Recorded passes: hooks see what decoding computed, change what was requested, and stay within their thread."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from support.models import mark_end, random_sources, record_one, unlike_model, zero_ablated
from support.tolerance import near

from transformer.decoding.sampling import Greedy, Sampling, decode, decode_ids
from transformer.interpret.activations import Request, read_decoding, record, record_encoder
from transformer.model.fused_step import keeping_step
from transformer.model.names import AttentionKind
from transformer.model.transformer import Transformer

BEGIN = 2


@pytest.fixture
def model() -> Iterator[Transformer]:
    """Yield a model; no hook may be left behind."""
    model = mark_end(unlike_model(seed=4), 2.0)
    yield model
    assert not any(module._forward_hooks for module in model.modules())


@torch.inference_mode()
def unobserved(model: Transformer, source: list[int], fed: list[int]) -> torch.Tensor:
    return model(torch.tensor([source]), torch.tensor([fed]))[0]


def test_many_threads_on_one_model_see_only_their_own_results(model):
    """Record, ablate and translate at the same time on one shared model; an observed pass differs in no bit."""
    sources = random_sources(3, 5, 7, 11)
    feds = [[BEGIN, *range(5, 5 + number)] for number in range(4)]
    records = [record_one(model, source, fed) for source, fed in zip(sources, feds, strict=True)]
    ablated = []
    for number, (source, fed) in enumerate(zip(sources, feds, strict=True)):
        assert torch.equal(records[number].logits, unobserved(model, source, fed))
        with zero_ablated(model, [("cross", 2, number)]):
            ablated.append(unobserved(model, source, fed))
    translations = [decode(model, [source], Greedy())[0].ids for source in sources]
    start = threading.Barrier(4)

    def visit(number: int) -> None:
        source, fed, expected = sources[number], feds[number], records[number]
        start.wait()
        for turn in range(number, number + 9):
            if turn % 3 == 0:
                seen = record_one(model, source, fed)
                assert all(torch.equal(getattr(seen, k), getattr(expected, k)) for k in (*AttentionKind, "logits"))
            elif turn % 3 == 1:
                with zero_ablated(model, [("cross", 2, number)]):
                    assert torch.equal(unobserved(model, source, fed), ablated[number])
            else:
                assert decode(model, [source], Greedy())[0].ids == translations[number]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(visit, range(4)))


def test_only_requested_modules_are_kept(model):
    source, decoder_input = random_sources(7)[0], [BEGIN, 9, 8]
    keep = ("decoder.1.feed_forward.inner", "decoder_input.positions", "positions")
    seen = record(model, [source], [decoder_input], Request(keep=keep, logits_to_keep=1))
    assert set(seen.calls) == set(keep) and seen.attention("cross") == []
    assert seen.call("decoder_input.positions").output.shape[1] == len(decoder_input)
    assert seen.logits[0] == near(record_one(model, source, decoder_input).logits[-1:])
    for name, message in (("positions", "'positions' expected, 2 were kept"), ("encoder.0", "'encoder.0' expected, 0")):
        with pytest.raises(ValueError, match=f"one call of {message}"):
            seen.call(name)
    with pytest.raises(ValueError, match="no module named 'decoder.3.core'"):
        record(model, [source], [decoder_input], Request(keep=("decoder.3.core",)))


@pytest.mark.parametrize("norm, prefix", [("post", []), ("pre", [9, 4, 11])])
@pytest.mark.parametrize("strategy", [Greedy(), Sampling(seed=5)])
@pytest.mark.parametrize("length", [1, 7])
def test_a_decoding_that_kept_its_attention_is_a_pass_over_all_at_once(length, strategy, norm, prefix):
    model, (source,) = mark_end(unlike_model(seed=4, norm=norm), 2.0), random_sources(length)
    encoder, step = record_encoder(model, [source]), keeping_step(model)
    (ids,) = decode_ids(model, [source], strategy, [prefix], encoder.memory, step)
    read, replayed = read_decoding(model, encoder, step), record(model, [source], [[BEGIN, *ids[:-1]]])
    assert ids[: len(prefix)] == prefix and len(ids) > 1
    assert set(read.calls) == set(replayed.calls) and len(read.calls) == 2 + 3 + 3
    for name in ("logits", "memory", "hidden"):
        assert getattr(read, name) == near(getattr(replayed, name))
    for name, (expected,) in replayed.calls.items():
        call = read.call(name)
        assert call.output == near(expected.output)
        for value, other in zip(call.inputs, expected.inputs, strict=True):
            assert value is other is None or value == near(other)
    for kind in AttentionKind:
        assert read.weights(kind) == near(replayed.weights(kind))


@pytest.mark.parametrize(
    ("sources", "fed"),
    [([[5, 3]] * 2, [[BEGIN]]), ([[]], [[BEGIN]]), ([[5, 3]], [[]]), ([[31, 3]], [[BEGIN]]), ([[5, 3]], [[-1]])],
)
def test_sentences_that_the_model_cannot_read_are_refused(model, sources, fed):
    with pytest.raises(ValueError, match="expected|needs ids"):
        record(model, sources, fed)
    with pytest.raises(ValueError, match="positions asked for"), zero_ablated(model, [("cross", 0, 0)]):
        record(model, [[7] * 9999], [[BEGIN]])
    with pytest.raises(ValueError, match="eval mode"):
        record(model.train(), [[5, 3]], [[BEGIN]])
