"""Recorded passes: hooks see what decoding computed, change what was requested, and stay within their thread."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
import torch
from support.models import mark_end, random_sources, record_one, unlike_model, zero_ablated
from support.tolerance import near

from transformer.decoding.sampling import Greedy, decode
from transformer.interpret.activations import Request, record
from transformer.model.names import AttentionKind
from transformer.model.transformer import Transformer

BEGIN = 2


@pytest.fixture(scope="module")
def model() -> Transformer:
    return mark_end(unlike_model(seed=4), 2.0)


@torch.inference_mode()
def unobserved(model: Transformer, source: list[int], fed: list[int]) -> torch.Tensor:
    return model(torch.tensor([source]), torch.tensor([fed]))[0]


def test_an_observed_pass_is_bit_identical_to_an_unobserved_one(model):
    for source, fed in zip(random_sources(3, 11), ([BEGIN], [BEGIN, 7, 9, 30, 4]), strict=True):
        assert torch.equal(record_one(model, source, fed).logits, unobserved(model, source, fed))


def test_recording_leaves_no_hook_behind(model):
    record_one(model, random_sources(4)[0], [BEGIN])
    with pytest.raises(ValueError, match="positions asked for"), zero_ablated(model, [("cross", 0, 0)]):
        record_one(model, [7] * 9999, [BEGIN])
    assert not any(module._forward_hooks for module in model.modules())


def test_a_model_in_training_mode_is_not_recorded():
    with pytest.raises(ValueError, match="eval mode"):
        record_one(unlike_model().train(), [5, 3], [BEGIN])


def test_many_threads_on_one_model_see_only_their_own_results(model):
    """Record, ablate and translate at the same time on one shared model."""
    sources = random_sources(3, 5, 7, 9, 11, 13)
    feds = [[BEGIN, *range(5, 5 + number)] for number in range(6)]
    expected_records = [record_one(model, source, fed) for source, fed in zip(sources, feds, strict=True)]
    expected_ablated = []
    for number, (source, fed) in enumerate(zip(sources, feds, strict=True)):
        with zero_ablated(model, [("cross", 2, number % 4)]):
            expected_ablated.append(unobserved(model, source, fed))
    expected_ids = [decode(model, [source], Greedy())[0].ids for source in sources]
    start = threading.Barrier(6)

    def visit(number: int) -> None:
        source, fed, expected = sources[number], feds[number], expected_records[number]
        start.wait()
        for turn in range(12):
            if (number + turn) % 3 == 0:
                seen = record_one(model, source, fed)
                assert all(torch.equal(getattr(seen, k), getattr(expected, k)) for k in (*AttentionKind, "logits"))
            elif (number + turn) % 3 == 1:
                with zero_ablated(model, [("cross", 2, number % 4)]):
                    assert torch.equal(unobserved(model, source, fed), expected_ablated[number])
            else:
                assert decode(model, [source], Greedy())[0].ids == expected_ids[number]

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(visit, range(6)))
    assert not any(module._forward_hooks for module in model.modules())


def test_a_request_changes_outputs_as_interventions_do(model):
    source, decoder_input, heads = random_sources(7)[0], [BEGIN, 9, 8], [("encoder", 0, 1), ("cross", 2, 3)]

    def without(head: int, output: torch.Tensor) -> torch.Tensor:
        output = output.clone()
        output[:, head] = 0.0
        return output

    change = (
        ("encoder.0.self_attention.core", partial(without, 1)),
        ("decoder.2.cross_attention.core", partial(without, 3)),
    )
    requested = record(model, [source], [decoder_input], Request(change=change))
    with zero_ablated(model, heads):
        within = record(model, [source], [decoder_input])
    assert torch.equal(requested.logits, within.logits)
    assert not torch.equal(requested.logits, record(model, [source], [decoder_input]).logits)
    assert not any(module._forward_hooks for module in model.modules())


def test_only_requested_modules_are_kept(model):
    source, decoder_input = random_sources(7)[0], [BEGIN, 9, 8]
    keep = ("decoder.1.feed_forward.inner", "decoder_input.positions", "positions")
    seen = record(model, [source], [decoder_input], Request(keep=keep, logits_to_keep=1))
    assert set(seen.calls) == set(keep)
    assert seen.call("decoder_input.positions").output.shape[1] == len(decoder_input)
    assert seen.logits[0] == near(record_one(model, source, decoder_input).logits[-1:])
    assert seen.attention("cross") == []
    with pytest.raises(ValueError, match="one call of 'positions' expected, 2 were kept"):
        seen.call("positions")
    with pytest.raises(ValueError, match="one call of 'encoder.0' expected, 0"):
        seen.call("encoder.0")
    with pytest.raises(ValueError, match="no module named 'decoder.3.core'"):
        record(model, [source], [decoder_input], Request(keep=("decoder.3.core",)))
    assert not any(module._forward_hooks for module in model.modules())


@pytest.mark.parametrize(
    ("sources", "fed"),
    [([[5, 3], [6, 3]], [[BEGIN]]), ([[]], [[BEGIN]]), ([[5, 3]], [[]]), ([[31, 3]], [[BEGIN]]), ([[5, 3]], [[-1]])],
)
def test_sentences_that_the_model_cannot_read_are_refused(model, sources, fed):
    with pytest.raises(ValueError, match="expected|needs ids"):
        record(model, sources, fed)
