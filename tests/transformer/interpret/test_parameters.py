"""The blocks of the figure: all parameters counted once, in the order of a layer."""

import pytest
from support.models import small_model, unlike_model

from transformer.interpret.parameters import blocks_of, parameter_rows


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("make", [small_model, unlike_model])
def test_the_blocks_hold_every_parameter_once(make, norm):
    model = make(2, norm=norm)
    blocks = blocks_of(model)
    assert sum(block.parameters for block in blocks) == model.count_parameters()
    assert sum(row.count for row in parameter_rows(model)) == model.count_parameters()
    assert len({block.name for block in blocks}) == len(blocks)
    shared = [block.name for block in blocks if block.shared_with]
    assert shared == (["target_embedding", "generator"] if model.config.share_embeddings else [])


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_layer_has_the_boxes_of_its_norm(norm):
    model = small_model(2, norm=norm)
    blocks = blocks_of(model)
    kinds = [block.kind for block in blocks if block.stack == "decoder" and block.layer == 1]
    attention = ["self_attention", "cross_attention", "feed_forward"]
    if norm == "post":
        assert kinds == [kind for name in attention for kind in (name, "add_and_norm")]
    else:
        assert kinds == [kind for name in attention for kind in ("norm", name, "add")]
    assert [block.name for block in blocks if block.layer is None and block.kind == "norm"] == (
        ["encoder_norm", "decoder_norm"] if norm == "pre" else []
    )
    inner = [block for block in blocks if block.stack == "encoder" and block.layer is not None]
    assert len(inner) == len(kinds) / 3 * 2 * 2


def test_parameters_are_named_as_in_the_file():
    model = small_model(2)
    rows = {row.name: row for row in parameter_rows(model)}
    assert rows["source_embedding.embedding.weight"].shape == (31, 24)
    assert (
        rows["generator.weight"].count == 0
        and rows["generator.weight"].shared_with == "source_embedding.embedding.weight"
    )
    assert {name for name, _ in model.named_parameters()} <= rows.keys()
