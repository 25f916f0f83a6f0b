"""The blocks of the figure: all parameters counted once, and each begins where the one before ended."""

import numpy as np
import pytest
from support.small import random_sources, small_model, unlike_model

from transformer.interpret.parameters import blocks_of, parameter_rows
from transformer.interpret.residual import record_residual_stream

SOURCE, FED = random_sources(7)[0], [2, 9, 8, 5, 4]


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("make", [small_model, unlike_model])
def test_the_blocks_hold_every_parameter_once(make, norm):
    model = make(2, norm=norm)
    blocks = blocks_of(model, record_residual_stream(model, SOURCE, FED))
    assert sum(block.parameters for block in blocks) == model.count_parameters()
    assert sum(row.count for row in parameter_rows(model)) == model.count_parameters()
    assert len({block.name for block in blocks}) == len(blocks)
    shared = [block.name for block in blocks if block.shared_with]
    assert shared == (["target_embedding", "generator"] if model.config.share_embeddings else [])


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_layer_has_the_boxes_of_its_norm(norm):
    model = small_model(2, norm=norm)
    blocks = blocks_of(model, record_residual_stream(model, SOURCE, FED))
    kinds = [block.kind for block in blocks if block.stack == "decoder" and block.layer == 1]
    attention = ["self_attention", "cross_attention", "feed_forward"]
    if norm == "post":
        assert kinds == [kind for name in attention for kind in (name, "add_and_norm")]
    else:
        assert kinds == [kind for name in attention for kind in ("norm", name, "add")]
    assert [block.name for block in blocks if block.layer is None and block.kind == "norm"] == (
        ["encoder_norm", "decoder_norm"] if norm == "pre" else []
    )
    assert (
        len([block for block in blocks if block.stack == "encoder" and block.layer is not None])
        == len(kinds) / 3 * 2 * 2
    )


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_what_a_block_gives_is_what_the_next_one_gets(norm):
    model = small_model(2, norm=norm)
    stream = record_residual_stream(model, SOURCE, FED)
    blocks = {block.name: block for block in blocks_of(model, stream)}
    first = blocks["encoder.0.self_attention"]
    if norm == "post":
        assert np.array_equal(first.before, blocks["source_positions"].after)
    else:
        norm_block = blocks["encoder.0.self_attention_residual.norm"]
        assert np.array_equal(norm_block.before, blocks["source_positions"].after)
        assert np.array_equal(first.before, norm_block.after)
        assert np.allclose(
            blocks["encoder.0.self_attention_residual"].after, norm_block.before + first.after, atol=1e-5
        )
    assert np.array_equal(blocks["generator"].before, stream.decoder.end)
    assert np.allclose(blocks["softmax"].after.sum(axis=-1), 1, atol=1e-5)
    assert blocks["source_embedding"].before is None


def test_parameters_are_named_as_in_the_file():
    model = small_model(2)
    rows = {row.name: row for row in parameter_rows(model)}
    assert rows["source_embedding.embedding.weight"].shape == (31, 24)
    assert (
        rows["generator.weight"].count == 0
        and rows["generator.weight"].shared_with == "source_embedding.embedding.weight"
    )
    assert {name for name, _ in model.named_parameters()} <= rows.keys()
