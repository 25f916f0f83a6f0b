"""Patches and functions in place of the model's vectors: refusals, effects, and their names in a trace."""

import numpy as np
import pytest
import torch
from support.models import random_sources, unlike_model
from support.tolerance import near

import headlight as hl
from transformer.errors import InterventionError
from transformer.interpret.activations import Request, record
from transformer.interpret.trace import Trace
from transformer.interpret.what_if.custom import Apply, Patch
from transformer.interpret.what_if.intervention import Mean, Rows, Unrepeatable, Zero, parse
from transformer.interpret.what_if.running import apply_interventions

SOURCE, FED = random_sources(7)[0], [2, 9, 8, 5]
VECTOR = np.arange(24.0)
MODEL = unlike_model()


def run(*interventions):
    try:
        with apply_interventions(MODEL, interventions):
            return record(MODEL, [SOURCE], [FED], Request(keep=())).logits
    finally:
        assert not any(module._forward_hooks for module in MODEL.modules())


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Patch("encoder.stream", value=VECTOR), "needs a layer"),
        (lambda: Patch("cross", 1, value=VECTOR[:6]), "of heads one"),
        (lambda: Patch("encoder.stream", 1, 2, value=VECTOR), "no head: only attention has heads"),
        (lambda: Patch("encoder.stream", 1, value=np.ones((2, 24)), position=1), r"expected, got \[2, 24\]"),
        (lambda: Patch("encoder.stream", 1, value=VECTOR, position=1, rows=Rows(2)), "give one of them"),
        (lambda: Zero("encoder.stream", 1), "there is none of encoder.stream"),
        (lambda: Zero("encoder.feed_forward", 1, units=[]), "at least one"),
        (lambda: Patch("encoder.stream", 3, value=VECTOR), "encoder.stream has 3 layers, counted from 0"),
        (lambda: Patch("encoder.stream", 2, value=VECTOR[:23]), "vectors of 24 numbers expected, got 23"),
        (lambda: Patch("cross", 2, 1, value=VECTOR), "vectors of 6 numbers expected, got 24"),
        (lambda: Patch("cross", 2, 4, value=VECTOR[:6]), "has 4 heads"),
        (lambda: Zero("encoder", 2, 0), "has 2 layers"),
        (lambda: Zero("decoder.feed_forward", 2, units=[40]), "has 40 units"),
        (lambda: Mean("decoder.feed_forward", 1), "not measured"),
    ],
)
def test_impossible_interventions_and_parts_that_the_model_does_not_have_are_refused(make, message):
    with pytest.raises(InterventionError, match=message):
        run(make())


def test_a_patch_keeps_its_values_and_changes_no_position_beyond_the_sentence():
    values, plain = VECTOR.copy(), run()
    patch = Patch("encoder.stream", 1, position=2, value=values)
    values[:] = 0
    assert torch.equal(run(patch), run(Patch("encoder.stream", 1, position=2, value=VECTOR)))
    assert torch.equal(run(Patch("encoder.stream", 1, position=7, value=VECTOR)), plain)
    assert not torch.equal(run(patch), plain) and patch == patch != Patch("encoder.stream", 1, position=2, value=VECTOR)
    with pytest.raises(ValueError, match=r"one call of 'encoder\.0\.feed_forward_residual' expected, 0 were kept"):
        Patch.from_activations(record(MODEL, [SOURCE], [FED]), "encoder.stream", 1)


@pytest.mark.parametrize("part", ["cross", "encoder.stream", "decoder.feed_forward"])
def test_a_function_that_fails_or_returns_something_else_is_named(part):
    def fail(_):
        raise KeyError("mine")

    for function, message in (
        (lambda x: x[..., :-1], "as it was given; got"),
        (lambda x: x.double(), "got .*torch.float64"),
        (lambda x: x.numpy(), "must return a tensor, got ndarray"),
    ):
        with pytest.raises(ValueError, match=rf"apply:{part}\.1\.\*: .*{message}"):
            run(Apply(part, function, 1))
    with pytest.raises(KeyError, match="mine") as raised:
        run(Apply(part, fail, 1, rows=Rows(3)))
    assert f"apply:{part}.1.*@3-, given [1, " in raised.value.__notes__[0]


def test_every_verb_runs_under_them_and_the_trace_shows_the_new_weights(translator):
    text = "big red dog."
    _, other = translator.record("old blue cat.", keep=hl.RESIDUAL_STREAM)
    patch = hl.Patch.from_activations(other, "encoder.stream", 1, position=2)
    made = hl.Apply("cross", lambda weights: weights.flip(-1), layer=1, head=2)
    interventions = [patch, made, hl.Zero("decoder.feed_forward", 1, units=[3]), "zero:decoder.0.1"]
    trace, seen = translator.record(text, interventions=interventions, keep=hl.RESIDUAL_STREAM)
    plain = translator.trace(text, target=trace.target_ids)
    assert torch.equal(seen.call("encoder.0.feed_forward_residual").output[0, 2], patch.vectors)
    assert not np.array_equal(trace.encoder[1], plain.encoder[1]) and np.array_equal(trace.encoder[0], plain.encoder[0])
    assert np.array_equal(trace.decoder[0], plain.decoder[0]), "an ablated head still shows its weights"
    core = seen.attention("cross")[1]
    scores = core.inputs[0] @ core.inputs[1].transpose(-1, -2) / 6**0.5
    assert trace.cross[1, 2] == near(scores.softmax(-1)[0, 2].flip(-1))
    assert translator.translate([text], interventions=interventions) == [trace.target_text]
    assert translator.hypotheses(text, interventions=interventions)[0].ids == trace.target_ids
    assert translator.trace_many([text, "cat."], interventions=interventions)[0].cross == near(trace.cross)


def test_a_saved_trace_names_interventions_that_cannot_run_again(translator, tmp_path):
    saved = [
        Patch("encoder.stream", 1, position=2, value=VECTOR),
        Apply("cross", torch.abs, 1, 2, rows=Rows(1)),
        Apply("decoder.feed_forward", torch.abs),
        Zero("encoder.feed_forward", 0, units=[3, 4]),
    ]
    texts = ["patch:encoder.stream.1.*@2", "apply:cross.1.2@1-", "apply:decoder.feed_forward.*.*"]
    translator.trace("big dog.", interventions=saved).save(tmp_path / "trace.npz")
    read = Trace.load(tmp_path / "trace.npz").interventions
    assert list(map(str, read)) == list(map(str, saved)) == [*texts, "zero:encoder.feed_forward.0.3,4"]
    assert [isinstance(each, Unrepeatable) for each in read] == [True, True, True, False] and read[3] == saved[3]
    with pytest.raises(InterventionError, match=r"^patch:encoder.stream.1.\*@2: what it put there was not saved"):
        translator.trace("big dog.", interventions=read)
    for text in texts:
        with pytest.raises(InterventionError, match="no intervention that a text can give"):
            parse(text)
