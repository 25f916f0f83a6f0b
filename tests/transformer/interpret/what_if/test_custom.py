"""Given vectors and functions of the reader's own: what they refuse, what they leave behind, and what a trace says."""

import threading

import numpy as np
import pytest
import torch
from support.models import random_sources, unlike_model
from support.tiny import make_pairs
from support.tolerance import near

import headlight as hl
from transformer.data.batching import make_examples
from transformer.errors import InterventionError
from transformer.interpret.activations import Request, record
from transformer.interpret.trace import Trace
from transformer.interpret.what_if.custom import Apply, Patch
from transformer.interpret.what_if.intervention import Mean, Rows, Unrepeatable, Zero, parse
from transformer.interpret.what_if.running import apply_interventions, measure_means

SOURCE, FED = random_sources(7)[0], [2, 9, 8, 5]
VECTOR = np.arange(24.0)


@pytest.fixture(scope="module")
def model():
    return unlike_model()


def run(model, *interventions, sources=(SOURCE,)):
    with apply_interventions(model, interventions):
        return record(model, list(sources), [FED] * len(sources), Request(keep=())).logits


@pytest.mark.parametrize(
    "make, said",
    [
        (lambda: Patch("encoder.stream", value=VECTOR), "needs a layer"),
        (lambda: Patch("cross", 1, value=VECTOR[:6]), "of heads one"),
        (lambda: Patch("encoder.stream", 1, 2, value=VECTOR), "no head: only attention has heads"),
        (lambda: Patch("encoder.stream", -1, value=VECTOR), "count from 0"),
        (lambda: Patch("encoder.stream", 1, value=3.0), r"\[width\] or \[rows, width\] expected, got \[\]"),
        (
            lambda: Patch("encoder.stream", 1, value=np.ones((2, 24)), position=1),
            r"\[1, width\] expected, got \[2, 24\]",
        ),
        (lambda: Patch("encoder.stream", 1, value=VECTOR, position=1, rows=Rows(2)), "give one of them"),
        (lambda: Zero("encoder.stream", 1), "there is none of encoder.stream"),
        (lambda: hl.Uniform("encoder.feed_forward", 1), "concerns encoder, decoder, cross"),
        (lambda: Zero("cross", 1, units=[2]), "Units are those of"),
        (lambda: Zero("encoder.feed_forward", 1, units=[]), "at least one"),
        (lambda: Zero("encoder.feed_forward", 1, units=[2, -1]), "count from 0"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(make, said):
    with pytest.raises(InterventionError, match=said):
        make()


@pytest.mark.parametrize(
    "intervention, said",
    [
        (Patch("encoder.stream", 3, value=VECTOR), "encoder.stream has 3 layers, counted from 0"),
        (Patch("encoder.stream", 2, value=VECTOR[:23]), "vectors of 24 numbers expected, got 23"),
        (Patch("cross", 2, 1, value=VECTOR), "vectors of 6 numbers expected, got 24"),
        (Patch("cross", 2, 4, value=VECTOR[:6]), "has 4 heads"),
        (Zero("decoder.feed_forward", 2, units=[40]), "has 40 units"),
        (Apply("decoder.attention", torch.neg, 3), "has 3 layers"),
        (Mean("decoder.feed_forward", 1), "not measured"),
    ],
)
def test_what_the_model_does_not_have_is_refused_before_it_runs(model, intervention, said):
    with pytest.raises(InterventionError, match=said):
        run(model, intervention)
    assert not any(module._forward_hooks for module in model.modules())


def test_a_position_that_no_sentence_has_changes_nothing(model):
    assert torch.equal(run(model, Patch("encoder.stream", 1, position=7, value=VECTOR)), run(model))


def test_a_pass_that_kept_nothing_there_gives_no_patch(model):
    with pytest.raises(ValueError, match=r"one call of 'encoder\.0\.feed_forward_residual' expected, 0 were kept"):
        Patch.from_activations(record(model, [SOURCE], [FED]), "encoder.stream", 1)


def test_each_patch_equals_itself_alone():
    one, other = (Patch("encoder.stream", 1, value=VECTOR) for _ in range(2))
    assert one == one and one != other and len({one, other, one}) == 2
    assert Apply("cross", torch.neg, 1) == Apply("cross", torch.neg, 1) != Apply("cross", torch.abs, 1)


def test_a_patch_keeps_its_values_when_the_readers_array_changes(model):
    values = VECTOR.copy()
    patch = Patch("encoder.stream", 1, position=2, value=values)
    before = run(model, patch)
    values[:] = 0
    assert torch.equal(run(model, patch), before)


@pytest.mark.parametrize("part", ["cross", "encoder.stream", "decoder.feed_forward"])
@pytest.mark.parametrize(
    "function, said",
    [
        (lambda x: x[..., :-1], "as it was given; got"),
        (lambda x: x.double(), "got .*torch.float64"),
        (lambda x: None, "must return a tensor, got NoneType"),
        (lambda x: x.numpy(), "got ndarray"),
    ],
)
def test_a_function_that_gives_something_else_is_told_so_where_it_is(model, part, function, said):
    with pytest.raises(ValueError, match=rf"apply:{part}\.1\.\*: .*{said}"):
        run(model, Apply(part, function, 1))
    assert not any(module._forward_hooks for module in model.modules())


def test_what_a_function_raises_is_raised_and_says_where(model):
    def fail(_):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as raised:
        run(model, Apply("decoder.stream", fail, 2, rows=Rows(3)))
    assert raised.value.__notes__ == [
        "raised by the function of the intervention apply:decoder.stream.2.*@3-, given [1, 4, 24], torch.float32"
    ]
    assert not any(module._forward_hooks for module in model.modules())


def test_a_function_may_write_into_what_it_gets_and_only_its_rows_count(model):
    def cleared(x):
        return x.zero_()

    whole = run(model, Patch("decoder.stream", 1, position=2, value=np.zeros(24)))
    assert torch.equal(run(model, Apply("decoder.stream", cleared, 1, rows=Rows(2, 2))), whole)
    anew = run(model, Apply("cross", torch.zeros_like, 1, 2))
    assert torch.equal(run(model, Apply("cross", cleared, 1, 2)), anew) and not torch.equal(anew, run(model))


def test_a_function_sees_the_newest_row_while_the_model_decodes_and_padding_beside_it(translator):
    shapes = []

    def seen(x):
        shapes.append(tuple(x.shape))
        return x

    translator.translate(["big red dog.", "cat."], interventions=[Apply("decoder.stream", seen, 1)])
    assert len(shapes) > 1 and {shape[1:] for shape in shapes} == {(1, 24)}
    shapes.clear()
    translator.translate(["big red dog.", "cat."], interventions=[Apply("decoder", seen, 1, 2)])
    assert [shape[1:] for shape in shapes] == [(1, 1, keys) for keys in range(1, len(shapes) + 1)]
    shapes.clear()
    traces = translator.trace_many(["big red dog.", "cat."], interventions=[Apply("encoder.stream", seen, 1)])
    assert shapes == [(2, max(len(trace.source_ids) for trace in traces), 24)]


def test_a_function_is_called_in_the_thread_that_asked_and_in_no_other(model):
    threads = set()

    def seen(x):
        threads.add(threading.get_ident())
        return x

    with apply_interventions(model, [Apply("encoder.stream", seen)]):
        other = threading.Thread(target=lambda: record(model, [SOURCE], [FED], Request(keep=())))
        other.start()
        other.join()
        assert not threads
        record(model, [SOURCE], [FED], Request(keep=()))
    assert threads == {threading.get_ident()}


def test_every_verb_runs_under_them_and_the_trace_shows_the_weights_that_were_made(translator):
    text = "big red dog."
    _, other = translator.record("old blue cat.", keep=hl.RESIDUAL_STREAM)
    patch = hl.Patch.from_activations(other, "encoder.stream", 1, position=2)
    made = hl.Apply("cross", lambda weights: weights.flip(-1), layer=1, head=2)
    asked = [patch, made, hl.Zero("decoder.feed_forward", 1, units=[3])]
    trace, seen = translator.record(text, interventions=asked, keep=hl.RESIDUAL_STREAM)
    plain = translator.trace(text, target=trace.target_ids)
    assert torch.equal(seen.call("encoder.0.feed_forward_residual").output[0, 2], patch.vectors)
    assert not np.array_equal(trace.encoder[1], plain.encoder[1]) and np.array_equal(trace.encoder[0], plain.encoder[0])
    core = seen.attention("cross")[1]
    scores = core.inputs[0] @ core.inputs[1].transpose(-1, -2) / 6**0.5
    assert trace.cross[1, 2] == near(scores.softmax(-1)[0, 2].flip(-1))
    assert translator.translate([text], interventions=asked) == [trace.target_text]
    assert translator.hypotheses(text, interventions=asked)[0].ids == trace.target_ids
    many = translator.trace_many([text, "cat."], interventions=asked)
    assert many[0].cross == near(trace.cross)


def test_a_saved_trace_says_what_it_ran_under_and_that_cannot_run_again(translator, tmp_path):
    asked = [Patch("encoder.stream", 1, position=2, value=VECTOR), Apply("cross", torch.abs, 1, 2, rows=Rows(1))]
    asked += [Apply("decoder.feed_forward", torch.abs), Zero("encoder.feed_forward", 0, units=[3, 4])]
    trace = translator.trace("big dog.", interventions=asked)
    trace.save(tmp_path / "trace.npz")
    read = Trace.load(tmp_path / "trace.npz").interventions
    texts = ["patch:encoder.stream.1.*@2", "apply:cross.1.2@1-", "apply:decoder.feed_forward.*.*"]
    assert list(map(str, read)) == list(map(str, asked)) == [*texts, "zero:encoder.feed_forward.0.3,4"]
    assert [isinstance(each, Unrepeatable) for each in read] == [True, True, True, False] and read[3] == asked[3]
    with pytest.raises(InterventionError, match=r"^patch:encoder.stream.1.\*@2: what it put there was not saved"):
        translator.trace("big dog.", interventions=read)
    for text in texts:
        with pytest.raises(InterventionError, match="no intervention that a text can give"):
            parse(text)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_means_of_units_are_those_of_all_real_tokens(tokenizer, norm):
    model = unlike_model(norm=norm, vocab_size=90)
    examples = make_examples(make_pairs(9, 3), tokenizer, model.config.max_length)
    means = measure_means(model, examples)
    for stack, layer in (("encoder", 1), ("decoder", 0), ("decoder", 2)):
        name, rows = f"{stack}.{layer}.feed_forward", []
        for each in examples:
            seen = record(model, [each.source], [each.target[:-1]], Request(keep=(f"{name}.inner",)))
            rows.append(seen.call(f"{name}.inner").output[0].double().clamp_min(0))
        expected = torch.cat(rows).mean(dim=0).float()
        assert means.of(f"{stack}.feed_forward")[layer] == near(expected)
