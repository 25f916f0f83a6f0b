"""The browser's engine on padded batches and positions, against PyTorch with the same int8 weights."""

from types import SimpleNamespace

import numpy as np
import pytest
from support.engine import NEAR, Dialogue, greedy_ids, same_greedy, same_pass
from support.small import small_model

from transformer.data.batching import Ids
from transformer.exchange.int8 import pack_weights, round_weights
from transformer.interpret.mask_ablation import DisabledMask, run_masked
from transformer.interpret.positions import embedding_sum, position_rows, without_positions
from transformer.model.names import AttentionKind, Stack
from transformer.model.transformer import Transformer

SHAPES = (
    {},
    {"positions": "learned", "norm": "pre", "embedding_norm": True, "scale_embeddings": False},
    {"positions": "none", "begin_id": 0, "target_vocab_size": 19, "share_embeddings": False},
    {"positions": "multiplied", "begin_id": 3, "first_position": 2},
)
SOURCES, TARGETS = ([5, 7, 9, 11, 3], [8, 6, 4, 3]), ([8, 6, 12, 3], [7, 9, 9, 10, 6, 3])
TOKENIZER = SimpleNamespace(pad_id=0, piece_text=str, source_piece_text=str)  # all that a batch asks of it


def traced(model: Transformer, source: Ids, target: Ids) -> SimpleNamespace:
    """A sentence as far as a batch reads it."""
    fed = (model.config.begin_id, *target[:-1])
    ids = {"source_ids": tuple(source), "decoder_input_ids": fed, "target_ids": tuple(target)}
    return SimpleNamespace(**ids, scored_steps=range(len(target)))


def same_batch(answer: dict, model: Transformer, sentence: int, disabled: DisabledMask) -> None:
    """Hold every score and weight of one sentence's real rows against PyTorch's, and what its steps say."""
    sentences = [traced(model, *pair) for pair in zip(SOURCES, TARGETS, strict=True)]
    run = run_masked(model, TOKENIZER, sentences, disabled)
    for kind in AttentionKind:
        captured, found = run.attention(kind), answer[kind]
        shape = captured.scores[:, sentence].shape
        assert found["shape"] == list(shape)
        np.testing.assert_array_equal(found["unmasked"].reshape(shape[2:]).astype(bool), captured.unmasked[sentence])
        for name in ("scores", "weights"):
            expected = getattr(captured, name)[:, sentence]
            np.testing.assert_allclose(found[name].reshape(shape), expected, rtol=0, atol=NEAR, err_msg=name)
    steps = len(TARGETS[sentence])
    for name, expected in (
        ("targetProbabilities", run.target_probabilities),
        ("bestProbabilities", run.best_probabilities),
    ):
        np.testing.assert_allclose(answer[name], expected[sentence, :steps], rtol=0, atol=NEAR, err_msg=name)
    assert [str(each) for each in answer["bestIds"]] == list(run.best_tokens[sentence][:steps])


def same_sum(answer: dict, model: Transformer, source: Ids) -> None:
    expected = embedding_sum(model, source, list(map(str, source)))
    for name in ("embeddings", "positions", "total"):
        np.testing.assert_allclose(answer[name], getattr(expected, name).ravel(), rtol=0, atol=NEAR, err_msg=name)
    for stack in Stack:
        np.testing.assert_allclose(answer["tables"][stack], position_rows(model, stack).ravel(), rtol=0, atol=1e-5)


@pytest.mark.parametrize("kernel", ["simd", "plain"])
def test_masks_and_positions_are_those_of_pytorch(kernel, tmp_path):
    dialogue = Dialogue()
    for number, shape in enumerate(SHAPES):
        model, name = small_model(number, dropout=0.0, **shape), f"small{number}"
        dialogue.models[name] = pack_weights(model)
        round_weights(model)
        longest = {"source": max(map(len, SOURCES)), "target": max(map(len, TARGETS))}
        source = list(SOURCES[0])

        def ask(*question, name=name):
            return dialogue.question(name, kernel, question)

        for sentence, (text, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
            for disabled in DisabledMask:
                given = {"source": list(text), "target": list(target)}
                ask("inBatch", given, longest, disabled)(same_batch, model, sentence, disabled)
        with without_positions(model):
            ids = greedy_ids(model, source)
        ask("withoutPositions", source)(same_without, model, source, ids)
        # What comes after is of the model with its masks and positions again.
        ask("decode", source, {"prefix": []})(same_greedy, model, source, [])
        ask("sum", source)(same_sum, model, source)
    dialogue.hold(tmp_path)


def same_without(answer: dict, model: Transformer, source: Ids, ids: Ids) -> None:
    assert list(answer["targetIds"]) == list(ids)
    with without_positions(model):
        same_pass(answer, model, source)


def test_a_batch_that_cannot_be_is_refused(tmp_path):
    dialogue, model = Dialogue(), small_model(1, dropout=0.0)
    dialogue.models["small"] = pack_weights(model)
    given, longest = {"source": [5, 3], "target": [6, 3]}, {"source": 5000, "target": 4}

    def refused(answer: dict, told: str) -> None:
        assert answer["error"]["name"] == "RangeError" and told in answer["error"]["message"]

    dialogue.question("small", "plain", ("inBatch", given, longest, "nothing"))(refused, "a batch has at most")
    dialogue.question("small", "plain", ("inBatch", given, {"source": 3, "target": 3}, "x"))(refused, "no mask x")
    dialogue.hold(tmp_path)
