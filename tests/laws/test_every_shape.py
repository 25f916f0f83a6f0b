"""Laws that hold in every shape of model: each choice of positions, norm and the rest with each other one."""

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import pytest
import torch
from support.models import small_model
from support.recorded import leave_one_out, record_residual_stream

from transformer.decoding.sampling import Greedy, Hypothesis, decode
from transformer.interpret.activations import RESIDUAL_STREAM, Request, record, scores_of
from transformer.interpret.attention_block import block_parameters, compute_stages, differences, record_stages
from transformer.interpret.attribution import gradient_times_input
from transformer.interpret.positions import embedding_sum
from transformer.interpret.residual import ResidualStream, decoder_lens, logit_lens, trajectory
from transformer.interpret.rollout import alti
from transformer.interpret.score_parts import KEPT, score_parts_of
from transformer.interpret.what_if.importance import head_importance
from transformer.interpret.what_if.logit_attribution import attribution_of
from transformer.interpret.what_if.patching import Question, every_cell, patched_logits
from transformer.interpret.what_if.running import apply_interventions
from transformer.model.heads import Head
from transformer.model.names import AttentionKind
from transformer.model.transformer import Transformer

SHAPES = {
    "positions": ("sinusoidal", "learned", "none", "multiplied", "relative"),
    "norm": ("post", "pre"),
    "embedding_norm": (False, True),
    "share_embeddings": (True, False),
    "target_vocab_size": (0, 19),
    "begin_id": (0, 3),  # padding, and the end of sentence; elsewhere it is a token of its own
    "forced_first_token": (False, True),
    "norm_type": ("layer", "rms"),
    "scale_scores": (True, False),
    "bias": (True, False),
    "feed_forward": ("plain", "gated"),
    "activation": ("relu", "gelu_new"),
    "head_size": (0, 7),
    "scale_output": (False, True),
    "separate_output": (False, True),
    "num_encoder_layers": (2, 4),
}
SOURCE, WORDS = [5, 7, 9, 11, 3], [8, 6, 12, 4, 9, 10]  # more words than source tokens
REFUSED = {("share_embeddings", False), ("separate_output", True)}
LANGUAGE, TOKEN = 8, 7
Law = Callable[["Case"], Iterator[tuple[object, object, float]]]  # pairs that are equal, and how nearly


@dataclass(frozen=True)
class Case:
    """A model of one shape, and what several laws ask of it."""

    model: Transformer

    @property
    def fed(self) -> list[int]:
        return [self.model.config.begin_id, *WORDS]

    @cached_property
    def logits(self) -> torch.Tensor:  # target vocab
        return self.replay(self.fed)

    @cached_property
    def stream(self) -> ResidualStream:
        return record_residual_stream(self.model, SOURCE, self.fed)

    @cached_property
    def greedy(self) -> Hypothesis:
        return self.decoded()

    @property
    def prefix(self) -> list[int]:
        return [LANGUAGE] * self.model.config.num_forced

    @torch.inference_mode()
    def replay(self, fed: list[int]) -> torch.Tensor:
        return self.model(torch.tensor([SOURCE]), torch.tensor([fed]))[0]

    def decoded(self) -> Hypothesis:
        return decode(self.model, [SOURCE], Greedy(), [self.prefix])[0]

    def log_probability(self, ids: tuple[int, ...]) -> float:
        """Of what was chosen, in one teacher-forced pass."""
        scores = self.replay([self.model.config.begin_id, *ids[:-1]]).log_softmax(-1)
        return float(sum(scores[step, id] for step, id in enumerate(ids) if step >= len(self.prefix)))


def shapes() -> list[dict]:
    """Return random shapes in which every two choices of different fields meet, without those that are refused."""
    draw, choices = random.Random(1), [(name, value) for name, values in SHAPES.items() for value in values]
    drawn = [{name: draw.choice(values) for name, values in SHAPES.items()} for _ in range(90)]
    result = [shape for shape in drawn if not REFUSED.issubset(shape.items())]
    pairs = {pair for pair in itertools.combinations(choices, 2) if pair[0][0] != pair[1][0] and set(pair) != REFUSED}
    assert pairs == {pair for shape in result for pair in itertools.combinations(shape.items(), 2)}
    return result


@cache
def cases() -> dict[str, Case]:
    ranges = {"relative_buckets": 8, "relative_distance": 6}
    return {str(shape): Case(small_model(dropout=0.0, output_bias=True, **ranges, **shape)) for shape in shapes()}


def parts_add_up_to_the_logit(case):
    keep = (*RESIDUAL_STREAM, "decoder.*.*_attention.core")
    seen = record(case.model, [SOURCE], [case.fed], Request(keep=keep))
    for step in (0, 3, len(WORDS)):
        for against, logit in ((None, 0.0), (9, case.logits[step, 9])):
            result = attribution_of(case.model, seen, step, TOKEN, against)
            yield result.logit, case.logits[step, TOKEN] - logit, 1e-4
            yield result.total, result.logit, 1e-3


def parts_add_up_to_the_score(case):
    seen = record(case.model, [SOURCE], [case.fed], Request(keep=KEPT))
    for kind, layer in itertools.product(AttentionKind, (0, 1)):
        scores = scores_of(seen.call(f"{kind.block_name(layer)}.core"))[0, 1]
        result = score_parts_of(case.model, seen, Head(kind, layer, 1), 2, 1)
        yield result.total, scores[2, 1], 1e-4
        yield result.grouped().total, scores[2, 1], 1e-4
        difference = score_parts_of(case.model, seen, Head(kind, layer, 1), 2, 1, against=0)
        yield difference.total, scores[2, 1] - scores[2, 0], 1e-4


def the_residual_stream_ends_in_the_logits(case):
    yield case.stream.logits, case.logits, 1e-4
    for stack in (case.stream.encoder, case.stream.decoder):
        yield trajectory(stack, 3).norms[-1], np.linalg.norm(stack.end[3]), 1e-4


def the_logit_lens_ends_in_the_prediction(case):
    lens = logit_lens(case.model, case.stream, [TOKEN] * len(case.fed))
    yield lens.probabilities[-1], case.logits.softmax(-1)[:, TOKEN], 1e-5


def contributions_are_shares(case):
    yield alti(case.model, SOURCE, case.fed).across.sum(-1), 1, 1e-9


def every_vector_patched_is_the_clean_run(case):
    question = Question(tuple(SOURCE), (5, 8, 9, 11, 3), tuple(case.fed), (TOKEN, 9))
    for stack, layer in (("encoder", 0), ("decoder", 3)):
        cells = every_cell(case.model, question, "residual", stack)[layer]
        clean, _, patched = patched_logits(case.model, question, [cells])
        yield patched, clean, 1e-5


def a_block_recomputed_in_numpy_is_the_models(case):
    for kind in AttentionKind:
        shown, parameters = record_stages(case.model, SOURCE, case.fed, kind, 1), block_parameters(case.model, kind, 1)
        memory = shown.memory if kind == AttentionKind.CROSS else None
        computed = compute_stages(shown.residual, memory, shown.unmasked, parameters)
        yield max(differences(shown, computed).values()), 0, 1e-3


def attributions_start_from_the_same_log_probability(case):
    expected = case.logits[-1].log_softmax(-1)[TOKEN]
    for method in (gradient_times_input, leave_one_out):
        result = method(case.model, SOURCE, case.fed, TOKEN)
        yield result.log_probability, expected, 1e-4
        yield (result.source.shape, result.prefix.shape), ((len(SOURCE),), (len(case.fed),)), 0


def embeddings_and_positions_sum_to_what_is_read(case):
    result = embedding_sum(case.model, SOURCE, list("abcde"))
    yield result.embeddings + result.positions, result.total, 1e-5
    yield result.total, case.stream.encoder.summed, 1e-5


def decoding_has_the_log_probability_of_its_replay(case):
    yield case.greedy.log_probability, case.log_probability(case.greedy.ids), 1e-3
    importance = head_importance(case.model, SOURCE, case.greedy.ids)
    yield importance.log_probabilities.sum(), case.greedy.log_probability, 1e-3


def so_it_has_under_interventions(case):
    with apply_interventions(case.model, ["forbid:cross.*.*:1", "zero:decoder.1.2"]):
        result = case.decoded()
        yield result.log_probability, case.log_probability(result.ids), 1e-3


def the_decoder_lens_ends_in_the_translation(case):
    yield decoder_lens(case.model, SOURCE, Greedy(), case.prefix)[-1].ids, case.greedy.ids, 0


LAWS = (
    parts_add_up_to_the_logit,
    parts_add_up_to_the_score,
    the_residual_stream_ends_in_the_logits,
    the_logit_lens_ends_in_the_prediction,
    contributions_are_shares,
    every_vector_patched_is_the_clean_run,
    a_block_recomputed_in_numpy_is_the_models,
    attributions_start_from_the_same_log_probability,
    embeddings_and_positions_sum_to_what_is_read,
    decoding_has_the_log_probability_of_its_replay,
    so_it_has_under_interventions,
    the_decoder_lens_ends_in_the_translation,
)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_it_holds_in_every_shape(law: Law):
    for name, case in cases().items():
        for result, expected, tolerance in law(case):
            np.testing.assert_allclose(result, expected, rtol=0, atol=tolerance, err_msg=name)
