"""PyTorch's answers to the questions for the browser's engine, from the same weights."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.engine_answers import Run, ask_engine
from transformer.decoding.beam import Beam, record_beam_search
from transformer.decoding.sampling import Greedy, decode
from transformer.interpret.activations import RESIDUAL_STREAM, Request, predict, record
from transformer.interpret.residual import residual_stream_of
from transformer.interpret.what_if.importance import head_importance
from transformer.interpret.what_if.intervention import Zero
from transformer.interpret.what_if.running import apply_interventions, rewritten_weights
from transformer.model.heads import Heads
from transformer.model.names import AttentionKind
from transformer.model.transformer import Transformer

NEAR = 1e-4  # how far a logit, a weight or a loss may be from PyTorch's


class Dialogue:
    """Questions for the engine, each with what is to be done with its answer, and one run of node for all of them."""

    def __init__(self) -> None:
        self.models: dict[str, tuple[dict, bytes]] = {}
        self.questions: dict[tuple[str, str], list[tuple[Sequence[object], Callable[[Any], object]]]] = {}

    def question(self, model: str, kernel: str, question: Sequence[object]) -> Callable[..., None]:
        """Add a question, a verb and what it is given; returns who is told the check, called with its answer first."""

        def answered_by(check: Callable[..., object], *arguments: object) -> None:
            questions = self.questions.setdefault((model, kernel), [])
            questions.append((question, lambda answer: check(answer, *arguments)))

        return answered_by

    def hold(self, folder: Path) -> None:
        """Ask node, and check all that it answers."""
        runs = [Run(*key, [question for question, _ in questions]) for key, questions in self.questions.items()]
        for answers, questions in zip(ask_engine(folder, self.models, runs), self.questions.values(), strict=True):
            for answer, (_, check) in zip(answers, questions, strict=True):
                check(answer)


def texts_of(off: Sequence[str] = (), hidden: Sequence[int] = ()) -> list[str]:
    """The interventions that the engine's options stand for: heads there count from 1."""
    return [
        *(str(Zero(each.kind, each.layer, each.head)) for each in map(Heads.parse, off)),
        *(f"forbid:cross.*.*:{position}" for position in hidden),
    ]


@torch.inference_mode()
def same_logits(logits: np.ndarray, model: Transformer, source: Sequence[int], target: Sequence[int]) -> None:
    """Hold all logits of the teacher-forced pass against PyTorch's."""
    expected = record(model, [source], [[model.config.begin_id, *target[:-1]]]).logits[0]
    np.testing.assert_allclose(logits, expected.numpy().ravel(), rtol=0, atol=NEAR)


def same_pass(answer: dict, model: Transformer, source: Sequence[int], interventions: Sequence[str] = ()) -> None:
    """Hold what the engine saw of a translation against the teacher-forced pass over it: all maps, and each step."""
    ids = answer["targetIds"]
    with apply_interventions(model, list(interventions)):
        seen = record(model, [source], [[model.config.begin_id, *ids[:-1]]])
    for kind in AttentionKind:
        cores = enumerate(seen.attention(kind))
        expected = torch.stack([rewritten_weights(core, list(interventions), kind, layer)[0] for layer, core in cores])
        assert answer[kind]["shape"] == list(expected.shape)
        np.testing.assert_allclose(answer[kind]["weights"], expected.numpy().ravel(), rtol=0, atol=NEAR)
    _same_steps(answer, seen.logits[0], model.config.num_forced)


def _same_steps(answer: dict, logits: torch.Tensor, forced: int) -> None:
    """Hold probabilities, entropies and candidates against logits [target, vocab]."""
    ids = torch.tensor(answer["targetIds"])
    predicted = predict(logits, ids, 10)
    for name, expected in (
        ("targetProbabilities", predicted.probabilities),
        ("entropies", predicted.entropies),
        ("candidateProbabilities", predicted.best_probabilities.ravel()),
    ):
        np.testing.assert_allclose(answer[name], expected, rtol=0, atol=NEAR, err_msg=name)
    log_p = logits.log_softmax(-1).gather(1, ids[:, None])[forced:].sum().item()
    assert abs(answer["logProbability"] - log_p) < NEAR
    # Of what is nearly equal either may come first.
    candidates = torch.from_numpy(answer["candidateIds"].reshape(len(ids), -1).astype(np.int64))
    chosen = logits.softmax(-1).gather(1, candidates).numpy()
    np.testing.assert_allclose(chosen, predicted.best_probabilities, rtol=0, atol=NEAR)
    assert np.abs(answer["targetRanks"] - predicted.ranks).max() <= 1


def same_vectors(answer: dict, model: Transformer, source: Sequence[int], target: Sequence[int]) -> None:
    """Hold some numbers of each vector of both stacks against PyTorch's."""
    seen = record(model, [source], [[model.config.begin_id, *target[:-1]]], Request(keep=RESIDUAL_STREAM))
    stream = residual_stream_of(model, seen)
    for name, stack in (("sourceColumns", stream.encoder), ("targetColumns", stream.decoder)):
        after = [sublayer.after for sublayer in stack.sublayers]
        points = np.stack([stack.embedded, stack.summed - stack.embedded, stack.start, *after, stack.end])
        expected = points[:, :, [0, 3, -1]]
        assert answer[name]["shape"] == list(expected.shape)
        np.testing.assert_allclose(answer[name]["weights"], expected.ravel(), rtol=1e-5, atol=NEAR)


def greedy_ids(
    model: Transformer, source: Sequence[int], prefix: Sequence[int] = (), interventions: Sequence[str] = ()
) -> list[int]:
    """PyTorch's greedy translation."""
    with apply_interventions(model, list(interventions)):
        return list(decode(model, [source], Greedy(), [prefix])[0].ids)


def same_greedy(
    answer: dict, model: Transformer, source: Sequence[int], prefix: Sequence[int], interventions: Sequence[str] = ()
) -> None:
    """Hold a translation, token for token, and what was seen of it against PyTorch's."""
    assert answer["targetIds"] == greedy_ids(model, source, prefix, interventions)
    same_pass(answer, model, source, interventions)


def same_beam(
    answer: dict,
    model: Transformer,
    source: Sequence[int],
    beam: Beam,
    prefix: Sequence[int],
    interventions: Sequence[str] = (),
) -> None:
    """Compare all that a search ended with and kept to PyTorch's."""
    with apply_interventions(model, list(interventions)):
        expected = record_beam_search(model, [source], beam, [prefix])[0]
    assert [tuple(each["ids"]) for each in answer["ended"]] == [each.ids for each in expected.ended]
    assert [each["finished"] for each in answer["ended"]] == [each.finished for each in expected.ended]
    scores = [[each["logProbability"], each["score"]] for each in answer["ended"]]
    near = {"rtol": 1e-6, "atol": NEAR}
    np.testing.assert_allclose(scores, [[each.log_probability, each.score] for each in expected.ended], **near)
    assert [[tuple(ids) for ids in paths] for paths in answer["kept"]] == list(map(list, expected.beams))
    np.testing.assert_allclose(sum(answer["logProbabilities"], []), sum(expected.log_probabilities, ()), **near)
    np.testing.assert_allclose(answer["scoreBounds"], expected.score_bounds, **near)


@torch.inference_mode()
def same_reads(
    answer: dict, model: Transformer, source: Sequence[int], layer: int, head: int, interventions: Sequence[str] = ()
) -> None:
    """Hold what a watched head read at the last step of each path of a search against the pass over that path."""
    paths, read = sum(answer["kept"], []), sum(answer["reads"], [])
    ended = [(each["ids"], each["reads"]) for each in answer["ended"]]
    for ids, reads in [*zip(paths, read, strict=True), *ended]:
        with apply_interventions(model, list(interventions)):
            core = record(model, [source], [[model.config.begin_id, *ids[:-1]]]).attention(AttentionKind.CROSS)[layer]
        expected = rewritten_weights(core, list(interventions), AttentionKind.CROSS, layer)[0, head, -1]
        np.testing.assert_allclose(reads, expected.numpy(), rtol=0, atol=NEAR)


def same_losses(answer: dict, model: Transformer, source: Sequence[int], target: Sequence[int]) -> None:
    """Hold what each head is worth to a translation against PyTorch's."""
    expected = head_importance(model, source, target)
    np.testing.assert_allclose(answer["value"], expected.log_probabilities, rtol=0, atol=NEAR)
    assert len(answer["each"]) == sum(expected.of(kind)[..., 0].size for kind in AttentionKind)
    for each in answer["each"]:
        kind, position = each["kind"], (each["layer"], each["head"])
        np.testing.assert_allclose(each["losses"], expected.of(kind)[position], rtol=0, atol=NEAR, err_msg=str(each))
        assert each["turned"] == expected.turned[kind][position], each
