"""The residual stream and the logit lens, held against the model and against NumPy by hand."""

from pathlib import Path

import numpy as np
import pytest
import torch
from support.by_hand import ByHand
from support.models import random_sources, small_model, unlike_model
from support.tolerance import near

from transformer import Translator
from transformer.interpret.residual import logit_lens, record_hidden_units, record_residual_stream, sublayers_of

ROOT = Path(__file__).parents[3]
SOURCE, FED, NEXT = random_sources(7)[0], [2, 9, 8, 5, 4], [9, 8, 5, 4, 3]


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("make", [small_model, unlike_model])
def test_each_sublayer_begins_where_the_one_before_ended(norm, make):
    model = make(3, norm=norm)
    stream = record_residual_stream(model, SOURCE, FED)
    for stack, kinds in ((stream.encoder, 2 * 2), (stream.decoder, 3 * 3)):
        assert len(stack.sublayers) == kinds
        before = stack.start
        for sublayer in stack.sublayers:
            assert np.array_equal(sublayer.before, before)
            total = sublayer.before + sublayer.change
            expected = total if norm == "pre" else _normed(model, stack is stream.encoder, sublayer, total)
            assert sublayer.after == near(expected)
            before = sublayer.after
        assert np.array_equal(stack.end, before) == (norm == "post")
    with torch.inference_mode():
        assert np.array_equal(stream.logits, model(torch.tensor([SOURCE]), torch.tensor([FED]))[0].numpy())


def _normed(model, encoder, sublayer, total):
    found = {
        (layer, name): residual for layer, name, _, residual in sublayers_of(model, "encoder" if encoder else "decoder")
    }
    with torch.inference_mode():
        return found[sublayer.layer, sublayer.name].norm(torch.tensor(total)).numpy()


def test_it_begins_with_the_embedding_and_its_position():
    model = small_model(3)
    stream = record_residual_stream(model, SOURCE, FED)
    rows = model.source_embedding.weight[SOURCE].detach().numpy() * np.sqrt(model.config.d_model)
    assert stream.encoder.embedded == near(rows)
    assert stream.encoder.start - stream.encoder.embedded == near(model.positions.table[: len(SOURCE)].numpy())
    assert len(stream.decoder.embedded) == len(FED)


@pytest.mark.parametrize("name", ["en-de", "reverse"])
def test_it_is_what_the_file_of_the_checkpoint_gives(name):
    folder = ROOT / "checkpoints" / name
    translator, by_hand = Translator.load(folder, "cpu"), ByHand(folder)
    trace = translator.trace("I love my teacher.")
    logits = by_hand.run(trace.source_ids, trace.decoder_input_ids)
    stream = record_residual_stream(translator.model, trace.source_ids, trace.decoder_input_ids)
    for sublayer in stream.decoder.sublayers:
        kind = {"self_attention": "decoder", "cross_attention": "cross"}.get(sublayer.name)
        if kind:
            stages = by_hand.stages[kind, sublayer.layer]
            for own, expected in (
                (sublayer.before, "residual"),
                (sublayer.change, "output"),
                (sublayer.after, "result"),
            ):
                assert own == near(stages[expected])
    assert stream.logits == near(logits)


def test_watching_leaves_nothing_behind_and_wants_eval_mode():
    model = small_model(3)
    record_residual_stream(model, SOURCE, FED)
    assert not any(module._forward_hooks for module in model.modules())
    with pytest.raises(ValueError, match="eval"):
        record_residual_stream(model.train(), SOURCE, FED)


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
def test_the_last_layer_of_the_lens_is_the_model(norm):
    model = unlike_model(3, norm=norm)
    stream = record_residual_stream(model, SOURCE, FED)
    lens = logit_lens(model, stream, NEXT)
    own = torch.tensor(stream.logits).softmax(dim=-1).numpy()
    assert lens.probabilities.shape == (4, len(NEXT))
    assert lens.probabilities[-1] == near(own[range(len(NEXT)), NEXT])
    assert np.array_equal(lens.best_ids[-1, :, 0], own.argmax(axis=-1))
    assert np.array_equal(lens.ranks[-1], (own > own[range(len(NEXT)), NEXT][:, None]).sum(axis=-1) + 1)
    assert ((lens.entropies >= 0) & (lens.entropies <= np.log(model.config.vocab_size) + 1e-5)).all()


def test_the_lens_looks_at_every_layer_by_itself():
    model = unlike_model(3, norm="pre")
    stream = record_residual_stream(model, SOURCE, FED)
    lens = logit_lens(model, stream, NEXT)
    for layer in range(4):
        vectors = stream.decoder.start if layer == 0 else stream.decoder.of_layer(layer - 1)[-1].after
        with torch.inference_mode():
            expected = model.output_projection(model.decoder_norm(torch.tensor(vectors))).softmax(dim=-1).numpy()
        assert lens.probabilities[layer] == near(expected[range(len(NEXT)), NEXT])
