"""Models in another type than float32: translations, traces and measures near those of float32."""

import numpy as np
import pytest
import torch
from support.tolerance import near
from support.traces import CHECKPOINTS

import headlight as hl
from transformer import Sampling, Translator
from transformer.interpret.attribution import gradient_times_input, leave_one_out
from transformer.interpret.residual import logit_lens, record_residual_stream
from transformer.interpret.rollout import alti
from transformer.interpret.what_if.importance import head_importance
from transformer.interpret.what_if.logit_attribution import attribute_logit
from transformer.interpret.what_if.patching import Question, patching_map
from transformer.model.device import read_dtype

TEXT = "I love my teacher."
# Tolerance of a weight or a probability.
NEAR = {"float64": 2e-5, "float32": 0, "bfloat16": 0.12, "float16": 0.02}
ARRAYS = ("encoder", "decoder", "cross", "target_probabilities", "candidate_probabilities")


@pytest.fixture(scope="module", params=["float64", "bfloat16", "float16"])
def other(request) -> Translator:
    return hl.load(str(CHECKPOINTS / "en-de"), "cpu", dtype=request.param)


def name_of(translator: Translator) -> str:
    return str(translator.model.dtype).removeprefix("torch.")


def test_it_translates_and_traces_near_what_float32_does(shipped, other):
    decoding = {"beam": 3, "prefix": "Ich"}
    plain = shipped.trace(TEXT, **decoding)
    translation = other.translate([TEXT, "A dog."], **decoding)[0]
    assert translation.startswith("Ich") and (translation == plain.target_text or other.model.dtype != torch.float64)
    trace, plain = (each.trace(TEXT, target=plain.target_ids) for each in (other, shipped))
    for name in ARRAYS:
        array = getattr(trace, name)
        assert array.dtype == (np.float64 if name_of(other) == "float64" else np.float32)
        np.testing.assert_allclose(array, getattr(plain, name), atol=NEAR[name_of(other)])
        if name in ARRAYS[:3]:
            assert array.sum(axis=-1) == near(1)
    assert trace.log_probability == pytest.approx(plain.log_probability, abs=10 * NEAR[name_of(other)])
    hypothesis = other.hypotheses(TEXT, strategy=Sampling(0.8, seed=3))[0]
    replayed = other.trace(TEXT, target=hypothesis).log_probability
    assert replayed == pytest.approx(hypothesis.log_probability, abs=0.3)
    assert not np.array_equal(trace.cross, plain.cross)


MEASURES = {
    "gradient": lambda model, source, fed: gradient_times_input(model, source, fed, 9),
    "left out": lambda model, source, fed: leave_one_out(model, source, fed, 9),
    "logit": lambda model, source, fed: attribute_logit(model, source, fed, 9),
    "stream": record_residual_stream,
    "lens": lambda model, source, fed: logit_lens(model, record_residual_stream(model, source, fed), fed[1:] + fed[:1]),
    "ALTI+": alti,
    "heads": lambda model, source, fed: head_importance(model, source, fed[1:]),
    "patching": lambda model, source, fed: patching_map(
        model, Question(source, (*source[:2], source[3], source[2], *source[4:]), fed, (9, 40)), "residual", "encoder"
    ),
}


def test_every_measure_is_taken_in_it(shipped, other):
    trace = shipped.trace(TEXT)
    for name, measure in MEASURES.items():
        plain, frame = (
            measure(each.model, trace.source_ids, trace.decoder_input_ids).to_frame() for each in (shipped, other)
        )
        assert list(frame.columns) == list(plain.columns) and len(frame) == len(plain)
        values = plain.select_dtypes("floating").columns
        assert len(values) and (np.isfinite(frame[values]) == np.isfinite(plain[values])).all().all()
        if name_of(other) == "float64":
            np.testing.assert_allclose(frame[values], plain[values], atol=2e-3, rtol=2e-3, err_msg=name)


def test_float32_is_the_default(shipped):
    assert shipped.model.dtype == torch.float32
    for dtype in ("float32", torch.float32, None):
        assert read_dtype(dtype) == torch.float32
    assert read_dtype(torch.bfloat16) == read_dtype("bfloat16") == torch.bfloat16
    for dtype in ("int8", "half", torch.int64, "torch.foo", 3):
        with pytest.raises(ValueError, match="^dtype must be one of float32, float64, bfloat16, float16, got"):
            hl.load("there is no such folder", "cpu", dtype)
