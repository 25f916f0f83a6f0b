"""The residual stream, a token's trajectory, and the logit lens, against the model and against NumPy by hand."""

import numpy as np
import pytest
import torch
from support.models import random_sources, small_model, unlike_model
from support.recorded import record_residual_stream
from support.tolerance import near
from torch.nn import functional as F

from transformer.interpret.parameters import nearest
from transformer.interpret.residual import (
    logit_lens,
    record_hidden_units,
    sublayers_of,
    trajectory,
)

SOURCE, FED, NEXT = random_sources(7)[0], [2, 9, 8, 5, 4], [9, 8, 5, 4, 3]


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("make", [small_model, unlike_model])
@torch.inference_mode()
def test_each_sublayer_begins_where_the_one_before_ended(norm, make):
    model = make(3, norm=norm)
    stream = record_residual_stream(model, SOURCE, FED)
    for stack, ids, embedding in (("encoder", SOURCE, "source_embedding"), ("decoder", FED, "target_embedding")):
        norms, stack = [residual.norm for *_, residual in sublayers_of(model, stack)], getattr(stream, stack)
        assert stack.embedded == near(getattr(model, embedding).weight[ids].numpy() * np.sqrt(model.config.d_model))
        assert stack.summed == near(stack.embedded + model.positions.table[: len(ids)].numpy())
        before = stack.start
        for sublayer, around in zip(stack.sublayers, norms, strict=True):
            assert np.array_equal(sublayer.before, before)
            total = sublayer.before + sublayer.change
            assert sublayer.after == near(total if norm == "pre" else around(torch.tensor(total)))
            before = sublayer.after
        assert np.array_equal(stack.end, before) == (norm == "post")
    assert np.array_equal(stream.logits, model(torch.tensor([SOURCE]), torch.tensor([FED]))[0].numpy())


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_hidden_units_give_the_feed_forward_change(norm, stack):
    model = small_model(3, norm=norm)
    stream = record_residual_stream(model, SOURCE, FED)
    for layer, block in enumerate(getattr(model, stack)):
        units = record_hidden_units(model, SOURCE, FED, stack, layer)
        assert units.shape[1] == model.config.d_ff and (units >= 0).all() and (units == 0).any()
        with torch.inference_mode():
            change = block.feed_forward.outer(torch.tensor(units)).numpy()
        assert change == near(getattr(stream, stack).of_layer(layer)[-1].change)
    with pytest.raises(ValueError, match="layer"):
        record_hidden_units(model, SOURCE, FED, stack, layer + 1)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_lens_projects_every_layer_by_itself(norm):
    model = unlike_model(3, norm=norm)
    stream = record_residual_stream(model, SOURCE, FED)
    lens = logit_lens(model, stream, NEXT)
    for layer in range(4):
        vectors = stream.decoder.start if layer == 0 else stream.decoder.of_layer(layer - 1)[-1].after
        with torch.inference_mode():
            p = model.output_projection(model.decoder_norm(torch.tensor(vectors))).softmax(dim=-1).numpy()
        chosen = p[range(len(NEXT)), NEXT]
        assert lens.probabilities[layer] == near(chosen)
        assert np.array_equal(lens.best_ids[layer, :, 0], p.argmax(axis=-1))
        assert np.array_equal(lens.ranks[layer], (p > chosen[:, None]).sum(axis=-1) + 1)
        assert lens.entropies[layer] == near(-(p * np.log(p)).sum(axis=-1))
    assert lens.probabilities.shape == (4, len(NEXT))


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_trajectory_goes_through_every_sublayer(norm):
    stack = record_residual_stream(small_model(3, norm=norm), SOURCE, FED).decoder
    followed, end = trajectory(stack, 2), [("norm", None)] * (norm == "pre")
    names = [(name, layer) for layer in range(3) for name in ("self_attention", "cross_attention", "feed_forward")]
    assert list(followed.points) == [("embedding", None), ("positions", None), *names, *end]
    afters = [stack.embedded, stack.start, *(block.after for block in stack.sublayers), *[stack.end] * len(end)]
    vectors = torch.tensor(np.stack(afters)[:, 2])
    assert followed.norms == near(vectors.norm(dim=1))
    changes = np.stack([stack.start - stack.embedded, *(block.change for block in stack.sublayers)])[:, 2]
    assert np.isnan(followed.changes[0]) and followed.changes[1:11] == near(np.linalg.norm(changes, axis=1))
    assert followed.similarities == near(F.cosine_similarity(vectors, vectors[:1]))
    assert followed.turns[1:] == near(F.cosine_similarity(vectors[1:], vectors[:-1]))
    for token in (-1, len(FED)):
        with pytest.raises(ValueError, match="token"):
            trajectory(stack, token)


def test_the_nearest_are_those_of_the_largest_cosine():
    matrix = np.array([[1.0, 0.0], [2.0, 0.1], [0.0, 3.0], [-1.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    neighbours = nearest(matrix, 0, 3)
    assert [token for token, _ in neighbours] == [1, 5, 2]
    assert [cosine for _, cosine in neighbours] == pytest.approx([2 / np.hypot(2, 0.1), 2**-0.5, 0])
    assert nearest(matrix, 4, 1)[0][1] == 0
    with pytest.raises(ValueError):
        nearest(matrix, 6)
