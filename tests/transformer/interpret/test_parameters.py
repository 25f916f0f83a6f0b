"""The blocks of the figure: all parameters counted once, in the order of a layer."""

import pytest
from support.models import small_model, unlike_model

from transformer.interpret.parameters import blocks_of, parameter_rows

ATTENTION = ["self_attention", "cross_attention", "feed_forward"]


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("make", [small_model, unlike_model])
def test_the_blocks_hold_every_parameter_once_under_its_name_in_the_file(make, norm):
    model = make(2, norm=norm)
    blocks, rows = blocks_of(model), {row.name: row for row in parameter_rows(model)}
    for counts in ([block.parameters for block in blocks], [row.count for row in rows.values()]):
        assert sum(counts) == model.count_parameters()
    assert len({block.name for block in blocks}) == len(blocks)
    tied = make is small_model
    assert [b.name for b in blocks if b.shared_with] == (["target_embedding", "generator"] if tied else [])
    assert {name.replace("output_projection", "generator") for name, _ in model.named_parameters()} <= rows.keys()
    assert rows["source_embedding.embedding.weight"].shape == (31, 24)
    assert rows["generator.weight"].shared_with == ("source_embedding.embedding.weight" if tied else None)


def test_a_layer_has_the_boxes_of_its_norm():
    boxes = {"post": "{} add_and_norm", "pre": "norm {} add"}
    last = {"post": [], "pre": ["encoder_norm", "decoder_norm"]}
    for norm, template in boxes.items():
        blocks = blocks_of(small_model(2, norm=norm))
        kinds = [block.kind for block in blocks if block.stack == "decoder" and block.layer == 1]
        assert kinds == [kind for name in ATTENTION for kind in template.format(name).split()]
        assert [block.name for block in blocks if block.layer is None and block.kind == "norm"] == last[norm]
