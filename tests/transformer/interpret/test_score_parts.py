"""Parts of attention scores of the shipped models, recomputed in NumPy from the raw weights."""

import math

import numpy as np
import pytest
from safetensors.numpy import load_file

from transformer.checkpoint import locate
from transformer.interpret.score_parts import EMBEDDING, StreamPart, explain_score
from transformer.model.names import AttentionKind
from transformer.translator import Translator

SENTENCE = "The cat is hungry because it has not eaten."


@pytest.fixture(scope="module", params=["en-de", "en-fr"])
def shipped(request):
    translator = Translator.load(request.param)
    weights = {
        name: array.astype(np.float64) for name, array in load_file(locate(request.param) / "model.safetensors").items()
    }
    return translator, translator.trace(SENTENCE), weights


def first_layer_product(weights, trace, config, kind, head, query, key):
    """Compute embedding times embedding in a first layer, where queries and keys are embeddings plus positions."""
    size, side = config.d_model // config.num_heads, kind.stack
    ids = {"encoder": trace.source_ids, "decoder": trace.decoder_input_ids}[side]
    matrix = weights[f"{side}.0.self_attention.query_key_value.weight"]
    rows = [matrix[part * config.d_model + head * size :][:size] for part in (0, 1)]
    embedded = [
        weights["source_embedding.embedding.weight"][ids[place]] * math.sqrt(config.d_model) for place in (query, key)
    ]
    return (rows[0] @ embedded[0]) @ (rows[1] @ embedded[1]) / math.sqrt(size)


@pytest.mark.parametrize("kind", [AttentionKind.ENCODER, AttentionKind.DECODER])
@pytest.mark.parametrize("head", range(5))
def test_the_embeddings_product_is_that_of_the_raw_weights(shipped, kind, head):
    translator, trace, weights = shipped
    found = explain_score(translator, trace, kind, 0, head, query=4, key=2)
    part = StreamPart(EMBEDDING)
    value = found.products[found.query_parts.index(part), found.key_parts.index(part)]
    expected = first_layer_product(weights, trace, translator.model.config, kind, head, 4, 2)
    assert value == pytest.approx(expected, abs=1e-4)


def test_a_score_without_a_part_has_none_of_its_products(shipped):
    translator, trace, _ = shipped
    found = explain_score(translator, trace, "cross", 2, 0, query=3, key=1)
    part = next(each for each in found.query_parts if each.head is not None)
    rows = [number for number, each in enumerate(found.query_parts) if each == part]
    assert found.without(part) == pytest.approx(found.total - found.products[rows].sum(), abs=1e-9)


def test_the_table_and_the_largest_parts_add_up(shipped):
    translator, trace, _ = shipped
    found = explain_score(translator, trace, "cross", 1, 3, query=2, key=1, against=4)
    assert found.to_frame()["value"].sum() == pytest.approx(found.score, abs=1e-4)
    everything = found.largest(found.products.size)
    assert sum(value for *_, value in everything) + found.relative == pytest.approx(found.total)
    assert [abs(value) for *_, value in everything] == sorted((abs(value) for *_, value in everything), reverse=True)


@pytest.mark.parametrize(
    ("layer", "head", "query", "key"), [(9, 0, 0, 0), (0, 8, 0, 0), (0, 0, 99, 0), (0, 0, 0, 99), (0, -1, 0, 0)]
)
def test_another_place_is_refused(shipped, layer, head, query, key):
    translator, trace, _ = shipped
    with pytest.raises(ValueError, match=r"\b0\b"):
        explain_score(translator, trace, "cross", layer, head, query, key)
