"""Parts of attention scores: recomputed in NumPy from raw weights, and checked by a model without a head."""

import copy
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from support.traces import CHECKPOINTS, loaded

from transformer.interpret.score_parts import EMBEDDING, StreamPart, explain_score
from transformer.interpret.what_if.intervention import Zero
from transformer.interpret.what_if.score_without import score_without
from transformer.model.heads import Head
from transformer.model.names import AttentionKind

SENTENCE = "The cat is hungry because it has not eaten."


@pytest.fixture(scope="module")
def example():
    translator = loaded("en-de")
    return translator, translator.trace(SENTENCE)


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_the_embeddings_product_in_a_first_layer_is_that_of_the_raw_weights(example, kind):
    """Queries and keys of a first layer are embeddings plus positions."""
    (translator, trace), query, key = example, 4, 2
    stored = load_file(CHECKPOINTS / "en-de" / "model.safetensors")
    w_query, w_key, _ = np.split(stored[f"{kind}.0.self_attention.query_key_value.weight"].astype(np.float64), 3)
    ids = {"encoder": trace.source_ids, "decoder": trace.decoder_input_ids}[kind]
    table, width = stored["source_embedding.embedding.weight"].astype(np.float64), translator.model.config.d_model
    size, part = width // translator.model.config.num_heads, StreamPart(EMBEDDING)
    for head in range(5):
        rows = slice(head * size, (head + 1) * size)
        expected = (w_query[rows] @ table[ids[query]]) @ (w_key[rows] @ table[ids[key]]) * width / math.sqrt(size)
        parts = explain_score(translator, trace, kind, 0, head, query, key)
        value = parts.products[parts.query_parts.index(part), parts.key_parts.index(part)]
        assert value == pytest.approx(expected, abs=1e-4)


def test_the_table_and_the_largest_parts_add_up(example):
    parts = explain_score(*example, "cross", 1, 3, query=2, key=1, against=4)
    assert parts.to_frame()["value"].sum() == pytest.approx(parts.score, abs=1e-4)
    values = [value for *_, value in parts.largest(parts.products.size)]
    assert sum(values) + parts.relative == pytest.approx(parts.total)
    assert values == sorted(values, key=abs, reverse=True)


def test_a_score_without_a_part_has_none_of_its_products(example):
    parts = explain_score(*example, "encoder", 2, 0, query=3, key=1)
    part = next(each for each in parts.query_parts if each.head is not None)
    row, column = parts.query_parts.index(part), parts.key_parts.index(part)
    lost = parts.products[row].sum() + parts.products[:, column].sum() - parts.products[row, column]
    assert parts.without(part) == pytest.approx(parts.total - lost, abs=1e-9)
    grouped, group = parts.grouped(), part.group
    rows, columns = ([each != group for each in side] for side in (grouped.query_parts, grouped.key_parts))
    assert parts.without(group) == pytest.approx(grouped.products[rows][:, columns].sum(), abs=1e-9)


def test_the_pass_of_another_trace_is_not_explained(example):
    translator, trace = example
    changed = trace.cross.copy()
    changed[1, 4, 2, 1] += 1e-3
    ablated = translator.trace(SENTENCE, interventions=[Zero("encoder", 0, 0)])
    for other in (ablated, loaded("reverse").trace("a b c"), replace(trace, cross=changed)):
        with pytest.raises(ValueError, match="own pass, weight .*, got"):
            explain_score(translator, other, "cross", 1, 4, 2, 1)


def test_an_opened_group_has_its_heads_one_by_one(example):
    parts, group = explain_score(*example, "cross", 2, 3, query=3, key=2), StreamPart("encoder", 0)
    whole, opened = parts.grouped(), parts.grouped(group)
    heads = [at for at, part in enumerate(opened.key_parts) if part.source_head is not None]
    assert [opened.key_parts[at].head for at in heads] == list(range(8))
    expected = whole.products[:, whole.key_parts.index(group)]
    np.testing.assert_allclose(opened.products[:, heads].sum(axis=1), expected, atol=1e-9)
    assert opened.total == pytest.approx(parts.total, abs=1e-9)


@pytest.mark.parametrize("cell", [(9, 0, 0, 0), (0, 8, 0, 0), (0, 0, 99, 0), (0, 0, 0, 99), (0, -1, 0, 0)])
def test_unknown_heads_and_positions_are_refused(example, cell):
    with pytest.raises(ValueError, match=r"\b0\b"):
        explain_score(*example, "cross", *cell)


# Heads of a layer after which no other position is read before the score: a head that is silent everywhere is silent
# at query and key as far as the score goes.
@pytest.mark.parametrize(
    ("kind", "layer", "removed", "against"),
    [
        ("cross", 0, Head(AttentionKind.DECODER, 0, 3), None),
        ("cross", 0, Head(AttentionKind.ENCODER, 2, 1), 0),
        ("encoder", 1, Head(AttentionKind.ENCODER, 0, 5), None),
        ("decoder", 1, Head(AttentionKind.CROSS, 0, 2), 0),
    ],
)
def test_the_run_without_a_head_is_that_of_a_model_without_it(example, kind, layer, removed, against):
    translator, trace = example
    parts = explain_score(translator, trace, kind, layer, 4, 4, 2, against=against)
    silent = copy.copy(translator)
    silent.model = copy.deepcopy(translator.model)
    size = silent.model.config.d_model // silent.model.config.num_heads
    with torch.no_grad():
        weight = silent.model.get_submodule(removed.kind.block_name(removed.layer)).output.weight
        weight[:, removed.head * size : (removed.head + 1) * size] = 0
    passed = silent.trace(SENTENCE, target=trace.target_ids)
    expected = explain_score(silent, passed, kind, layer, 4, 4, 2, against=against).score
    assert score_without(translator, trace, parts, removed) == pytest.approx(expected, abs=1e-4)
