"""Decodings whose steps kept their attention: the same as a pass over all at once, and used wherever possible."""

import pytest
from support.models import mark_end, random_sources, unlike_model
from support.tolerance import near

from transformer.decoding.sampling import Greedy, Sampling, decode_ids
from transformer.interpret.activations import read_decoding, record, record_encoder
from transformer.model.fused_step import keeping_step
from transformer.model.names import AttentionKind

BEGIN = 2


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("prefix", [[], [9, 4, 11]], ids=["free", "prefix"])
@pytest.mark.parametrize("strategy", [Greedy(), Sampling(seed=5)], ids=["greedy", "sampling"])
@pytest.mark.parametrize("length", [1, 7])
def test_a_kept_decoding_is_a_pass_over_all_at_once(length, strategy, prefix, norm):
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
