"""Scores of runs without a head's part, against a copy of the model whose head writes nothing by its weights."""

import copy

import pytest
import torch

from transformer.interpret.score_parts import StreamPart, explain_score
from transformer.interpret.what_if.score_without import score_without
from transformer.model.head_ref import HeadRef
from transformer.model.names import AttentionKind
from transformer.translator import Translator

SENTENCE = "The cat is hungry because it has not eaten."


@pytest.fixture(scope="module")
def translator():
    return Translator.load("en-de")


def silence(translator, removed):
    """Return a copy of the translator with the head's columns of W_O zero."""
    silent = copy.copy(translator)
    silent.model = copy.deepcopy(translator.model)
    block = silent.model.get_submodule(removed.kind.block_name(removed.layer))
    size = silent.model.config.d_model // silent.model.config.num_heads
    with torch.no_grad():
        block.output.weight[:, removed.head * size : (removed.head + 1) * size] = 0
    return silent


# Heads of a layer after which no other position is read before the score: a head that is silent everywhere is silent
# at query and key as far as the score goes.
@pytest.mark.parametrize(
    ("kind", "layer", "removed"),
    [
        ("cross", 0, HeadRef(AttentionKind.DECODER, 0, 3)),
        ("cross", 0, HeadRef(AttentionKind.ENCODER, 2, 1)),
        ("encoder", 1, HeadRef(AttentionKind.ENCODER, 0, 5)),
        ("decoder", 1, HeadRef(AttentionKind.CROSS, 0, 2)),
    ],
)
@pytest.mark.parametrize("against", [None, 0])
def test_the_run_without_a_head_is_that_of_a_model_without_it(translator, kind, layer, removed, against):
    trace = translator.trace(SENTENCE)
    cell = kind, layer, 4, 4, 2
    found = explain_score(translator, trace, *cell, against=against)
    expected = explain_score(silence(translator, removed), trace, *cell, against=against).score
    assert score_without(translator, trace, found, removed) == pytest.approx(expected, abs=1e-4)


def test_a_head_that_wrote_neither_side_changes_nothing(translator):
    trace = translator.trace(SENTENCE)
    found = explain_score(translator, trace, "encoder", 0, 1, query=3, key=1)
    removed = HeadRef(AttentionKind.DECODER, 0, 0)
    assert score_without(translator, trace, found, removed) == pytest.approx(found.score, abs=1e-5)
    assert found.without(StreamPart(removed.kind, 0, 0)) == pytest.approx(found.total)
