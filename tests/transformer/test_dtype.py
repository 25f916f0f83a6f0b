"""Models in another type than float32: they translate and show what they do, and near what float32 says."""

import numpy as np
import pytest
import torch
from support.streams import CHECKPOINTS

import headlight as hl
from transformer import Beam, Sampling, Translator
from transformer.interpret.trace import Trace
from transformer.model.device import read_dtype

TEXT = "I love my teacher."
# How far a number between 0 and 1 may be off: a weight or a probability.
NEAR = {"float64": 2e-5, "float32": 0, "bfloat16": 0.12, "float16": 0.02}
ARRAYS = ("encoder", "decoder", "cross", "target_probabilities", "candidate_probabilities")


@pytest.fixture(scope="module", params=["float64", "bfloat16", "float16"])
def other(request) -> Translator:
    return hl.load(str(CHECKPOINTS / "en-de"), "cpu", dtype=request.param)


def name_of(translator: Translator) -> str:
    return str(translator.model.dtype).removeprefix("torch.")


@pytest.mark.parametrize("options", [{}, {"beam": 3}, {"prefix": "Ich"}], ids=str)
def test_it_translates_and_traces_near_what_float32_does(shipped, other, options):
    plain = shipped.trace(TEXT, **options)
    assert other.translate([TEXT, "A dog."], **options)[0] == plain.target_text
    trace = other.trace(TEXT, target=plain.target_ids)
    plain = shipped.trace(TEXT, target=plain.target_ids)
    for name in ARRAYS:
        found = getattr(trace, name)
        assert found.dtype == (np.float64 if name_of(other) == "float64" else np.float32)
        np.testing.assert_allclose(found, getattr(plain, name), atol=NEAR[name_of(other)])
        if name in ARRAYS[:3]:
            np.testing.assert_allclose(found.sum(axis=-1), 1, atol=1e-6)
    assert trace.log_probability == pytest.approx(plain.log_probability, abs=10 * NEAR[name_of(other)])
    assert not np.array_equal(trace.cross, plain.cross)


def test_what_a_search_scores_is_what_a_trace_says(other):
    found = other.hypotheses(TEXT, strategy=Beam(2))[0]
    near = {"float64": 1e-5, "bfloat16": 0.3, "float16": 0.05}[name_of(other)]
    assert other.trace(TEXT, target=found).log_probability == pytest.approx(found.log_probability, abs=near)
    drawn = other.hypotheses(TEXT, strategy=Sampling(0.8, seed=3))[0]
    assert other.trace(TEXT, target=drawn).log_probability == pytest.approx(drawn.log_probability, abs=near)


def test_it_is_recorded_and_changed_in_its_own_type(other, tmp_path):
    pairs = [(TEXT, "Ich liebe meinen Lehrer."), ("A dog runs.", "Ein Hund läuft.")]
    means = other.measure_means(pairs)
    _, seen = other.record("I love my father.", keep=hl.RESIDUAL_STREAM)
    assert seen.call("encoder.2.feed_forward_residual").output.dtype == other.model.dtype == means.encoder.dtype
    patch = hl.Patch.from_activations(seen, "encoder.stream", 2)
    asked = [
        patch,
        hl.Mean("cross", 1),
        hl.Mean("decoder.feed_forward", 0),
        hl.Uniform("encoder", 1),
        hl.Focus("cross", 2, key=1),
    ]
    asked.append(hl.Apply("decoder", lambda weights: weights * 0.5, 1))
    trace = other.trace(TEXT, interventions=asked, means=means)
    np.testing.assert_allclose(trace.encoder[1], 1 / len(trace.source_ids), atol=1e-6)
    assert not np.array_equal(trace.target_probabilities, other.trace(TEXT).target_probabilities)
    trace.save(tmp_path / "trace.npz")
    assert np.array_equal(Trace.load(tmp_path / "trace.npz").cross, trace.cross)
    losses = other.head_importance(pairs)
    assert np.isfinite(losses.cross).all() and losses.cross.any()


def test_float32_is_what_there_is_without_asking(shipped):
    assert shipped.model.dtype == torch.float32
    for asked in ("float32", torch.float32, None):
        assert read_dtype(asked) == torch.float32
    assert read_dtype(torch.bfloat16) == read_dtype("bfloat16") == torch.bfloat16


@pytest.mark.parametrize("dtype", ["int8", "half", torch.int64, "torch.foo", 3])
def test_another_type_is_refused_before_the_weights_are_read(dtype):
    with pytest.raises(ValueError, match="^dtype must be one of float32, float64, bfloat16, float16, got"):
        hl.load("there is no such folder", "cpu", dtype)
