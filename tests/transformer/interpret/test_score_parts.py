"""Parts of attention scores: recomputed in NumPy from raw weights, and checked by a model without a head."""

import copy
import math

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from support.traces import CHECKPOINTS, loaded

from transformer.interpret.score_parts import EMBEDDING, StreamPart, explain_score
from transformer.interpret.what_if.score_without import score_without
from transformer.model.head_ref import HeadRef
from transformer.model.names import AttentionKind

SENTENCE = "The cat is hungry because it has not eaten."


@pytest.fixture(scope="module", params=["en-de", "en-fr"])
def shipped(request):
    translator, stored = loaded(request.param), load_file(CHECKPOINTS / request.param / "model.safetensors")
    weights = {name: array.astype(np.float64) for name, array in stored.items()}
    return translator, translator.trace(SENTENCE), weights


def first_layer_product(weights, trace, config, kind, head, query, key):
    """Compute embedding times embedding in a first layer, where queries and keys are embeddings plus positions."""
    size, side = config.d_model // config.num_heads, kind.stack
    ids = {"encoder": trace.source_ids, "decoder": trace.decoder_input_ids}[side]
    matrix = weights[f"{side}.0.self_attention.query_key_value.weight"]
    rows = [matrix[part * config.d_model + head * size :][:size] for part in (0, 1)]
    embedded = [
        weights["source_embedding.embedding.weight"][ids[at]] * math.sqrt(config.d_model) for at in (query, key)
    ]
    return (rows[0] @ embedded[0]) @ (rows[1] @ embedded[1]) / math.sqrt(size)


@pytest.mark.parametrize("kind", [AttentionKind.ENCODER, AttentionKind.DECODER])
@pytest.mark.parametrize("head", range(5))
def test_the_embeddings_product_is_that_of_the_raw_weights(shipped, kind, head):
    translator, trace, weights = shipped
    parts = explain_score(translator, trace, kind, 0, head, query=4, key=2)
    part = StreamPart(EMBEDDING)
    value = parts.products[parts.query_parts.index(part), parts.key_parts.index(part)]
    expected = first_layer_product(weights, trace, translator.model.config, kind, head, 4, 2)
    assert value == pytest.approx(expected, abs=1e-4)


def test_a_score_without_a_part_has_none_of_its_products(shipped):
    translator, trace, _ = shipped
    parts = explain_score(translator, trace, "encoder", 2, 0, query=3, key=1)
    part = next(each for each in parts.query_parts if each.head is not None)
    row, column = parts.query_parts.index(part), parts.key_parts.index(part)
    lost = parts.products[row].sum() + parts.products[:, column].sum() - parts.products[row, column]
    assert parts.without(part) == pytest.approx(parts.total - lost, abs=1e-9)


def test_the_table_and_the_largest_parts_add_up(shipped):
    translator, trace, _ = shipped
    parts = explain_score(translator, trace, "cross", 1, 3, query=2, key=1, against=4)
    assert parts.to_frame()["value"].sum() == pytest.approx(parts.score, abs=1e-4)
    everything = parts.largest(parts.products.size)
    assert sum(value for *_, value in everything) + parts.relative == pytest.approx(parts.total)
    assert [abs(value) for *_, value in everything] == sorted((abs(value) for *_, value in everything), reverse=True)


def test_an_opened_group_has_its_heads_one_by_one(shipped):
    translator, trace, _ = shipped
    parts, group = explain_score(translator, trace, "cross", 2, 3, query=3, key=2), StreamPart("encoder", 0)
    whole, opened = parts.grouped(), parts.grouped(group)
    heads = [at for at, part in enumerate(opened.key_parts) if part.head_ref is not None]
    assert [opened.key_parts[at].head for at in heads] == list(range(8))
    expected = whole.products[:, whole.key_parts.index(group)]
    np.testing.assert_allclose(opened.products[:, heads].sum(axis=1), expected, atol=1e-9)
    assert opened.total == pytest.approx(parts.total, abs=1e-9)


@pytest.mark.parametrize(
    ("layer", "head", "query", "key"), [(9, 0, 0, 0), (0, 8, 0, 0), (0, 0, 99, 0), (0, 0, 0, 99), (0, -1, 0, 0)]
)
def test_unknown_heads_and_positions_are_refused(shipped, layer, head, query, key):
    translator, trace, _ = shipped
    with pytest.raises(ValueError, match=r"\b0\b"):
        explain_score(translator, trace, "cross", layer, head, query, key)


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
def test_the_run_without_a_head_is_that_of_a_model_without_it(kind, layer, removed, against):
    translator = loaded("en-de")
    trace = translator.trace(SENTENCE)
    cell = kind, layer, 4, 4, 2
    parts = explain_score(translator, trace, *cell, against=against)
    expected = explain_score(silence(translator, removed), trace, *cell, against=against).score
    assert score_without(translator, trace, parts, removed) == pytest.approx(expected, abs=1e-4)
