"""Relative positions and other parts of T5's models: against formulas, and alike in every kind of pass."""

import json

import numpy as np
import pytest
import torch
from support.models import LIKE_T5, random_ids, small_model
from transformers.models.t5.modeling_t5 import T5Attention

from transformer.checkpoint import load_checkpoint
from transformer.interpret.relative_positions import relative_bias
from transformer.model.attention import distance_ranges
from transformer.model.fused_step import decoding_step, is_covered

EVERY = pytest.mark.parametrize("name", LIKE_T5)


@pytest.mark.parametrize("both_ways", [True, False])
@pytest.mark.parametrize(("count", "furthest"), [(32, 128), (8, 11), (64, 33)])
def test_each_distance_is_in_the_range_that_t5_has_it_in(count, furthest, both_ways):
    distances = torch.arange(-400, 401)
    expected = T5Attention._relative_position_bucket(distances, both_ways, count, furthest)
    assert torch.equal(distance_ranges(distances, count, furthest, both_ways=both_ways), expected)


@EVERY
@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_the_bias_of_two_positions_is_that_of_their_distance(name, stack):
    model = small_model(**LIKE_T5[name])
    by_distance, bias = relative_bias(model, stack).numbers, getattr(model, f"{stack}_relative")(5, 7)
    heads, middle = model.config.num_heads, model.config.max_length - 1
    assert by_distance.shape == (heads, 2 * middle + 1) and bias.shape == (1, heads, 5, 7)
    for query, key in np.ndindex(5, 7):
        np.testing.assert_array_equal(bias[0, :, query, key].detach(), by_distance[:, middle + key - (query + 2)])
    after = by_distance[:, middle:]
    assert (after == after[:, :1]).all() == (stack == "decoder")


@EVERY
@torch.inference_mode()
def test_a_step_is_the_last_row_of_the_whole_pass(name):
    model = small_model(**LIKE_T5[name]).double()
    source, target = random_ids(2, 6), random_ids(2, 5, seed=2)
    assert not is_covered(model.config) and is_covered(small_model().config)
    caches, step = model.start_caches(model.encode(source, None), 5), decoding_step(model)
    logits = [step(target[:, at], caches, None) for at in range(5)]
    torch.testing.assert_close(torch.stack(logits, 1), model(source, target))
    caches = model.start_caches(model.encode(source, None), 5)
    model.step(target[:, :2], caches, None)
    torch.testing.assert_close(model.step(target[:, 2:], caches, None), logits[-1])


def test_an_older_checkpoint_loads_unchanged(checkpoint_folder):
    before, path = load_checkpoint(checkpoint_folder).model, checkpoint_folder / "config.json"
    stored = json.loads(path.read_text())
    later = ("relative_", "head_size", "scale_s", "scale_o", "bias", "norm_", "feed_forward", "separate_output")
    stored["model"] = {name: value for name, value in stored["model"].items() if not name.startswith(later)}
    path.write_text(json.dumps(stored))
    after = load_checkpoint(checkpoint_folder).model
    assert after.config == before.config and len(stored["model"]) == 22
    assert torch.equal(after(random_ids(1, 6), random_ids(1, 5)), before(random_ids(1, 6), random_ids(1, 5)))
