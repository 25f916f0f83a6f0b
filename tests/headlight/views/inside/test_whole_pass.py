"""Facts of the moving picture: the model's own numbers, and few of them, however large the model."""

from dataclasses import replace

import numpy as np
import pytest
from support.pages import fact_array, unpack_facts
from support.traces import loaded

from headlight.views.inside.whole_pass_content import DIMENSIONS, MOST_TOKENS, pass_facts
from transformer.interpret.activations import RESIDUAL_STREAM
from transformer.interpret.residual import ResidualStream, StackStream, SubLayer, residual_stream_of

KINDS = ("encoder", "decoder", "cross")


def test_weights_and_vectors_are_those_of_the_pass():
    translator = loaded("en-de")
    trace, seen = translator.record("The cat is hungry.", keep=RESIDUAL_STREAM)
    stream = residual_stream_of(translator.model, seen)
    facts, maps = unpack_facts(pass_facts(trace, stream, translator.model))
    for kind in KINDS:
        np.testing.assert_allclose(maps[kind] / facts["steps"], trace.attention(kind), atol=1.1e-5)
    columns, chosen = fact_array(facts["target_columns"]), facts["dimensions"]
    assert len(chosen) == DIMENSIONS and chosen[-1] == translator.model.config.d_model - 1
    close = {"rtol": 1e-3, "atol": 1e-3}
    np.testing.assert_allclose(columns[0] + columns[1], stream.decoder.summed[:, chosen], **close)
    np.testing.assert_allclose(columns[-1], stream.decoder.end[:, chosen], **close)
    layer = stream.decoder.of_layer(1)
    for point, sublayer in enumerate(layer, start=3 + len(layer)):
        np.testing.assert_allclose(columns[point], sublayer.after[:, chosen], **close)
    whole = sum(each.numel() for each in translator.model.layer("decoder", 1).cross_attention.parameters())
    assert facts["parameters"]["decoder.1.cross_attention"] == whole


def enlarged(layers: int, heads: int, tokens: int):
    """Return a trace and a residual stream of these sizes, with weights that differ from head to head."""
    trace = loaded("en-de").trace("A dog.")
    shape, random = (layers, heads, tokens, tokens), np.random.default_rng(1)
    maps = {kind: random.uniform(size=shape).astype(np.float32) for kind in KINDS}
    names = dict.fromkeys(("source_tokens", "decoder_input_tokens", "target_tokens"), ("▁donaudampfschiff",) * tokens)
    ids = dict.fromkeys(("source_ids", "decoder_input_ids", "target_ids"), (7,) * tokens)
    candidates = {
        "candidate_tokens": (("▁donaudampfschiff",) * 10,) * tokens,
        "candidate_probabilities": random.uniform(size=(tokens, 10)).astype(np.float32),
        "target_probabilities": np.ones(tokens, np.float32),
        "target_ranks": np.ones(tokens, int),
    }
    vectors = random.normal(size=(tokens, loaded("en-de").model.config.d_model)).astype(np.float32)
    stack = StackStream(vectors, vectors, vectors, (), vectors)
    sides = [
        replace(
            stack, sublayers=tuple(SubLayer("feed_forward", at // of, *(vectors,) * 3) for at in range(layers * of))
        )
        for of in (2, 3)
    ]
    return replace(trace, **maps, **names, **ids, **candidates), ResidualStream(*sides, logits=vectors)


@pytest.mark.parametrize(
    ("layers", "heads", "tokens"), [(3, 8, 12), (6, 8, 30), (12, 16, 12), (12, 16, 60), (24, 16, MOST_TOKENS)]
)
def test_a_large_model_or_a_long_sentence_takes_less_than_200_kilobytes(layers, heads, tokens):
    trace, stream = enlarged(layers, heads, tokens)
    blob = pass_facts(trace, stream, loaded("en-de").model)
    assert len(blob) < 200_000
    facts, maps = unpack_facts(blob)
    drawn = facts["drawn"]["decoder"]
    assert facts["layers"]["decoder"] == layers and (drawn[0], drawn[-1]) == (0, layers - 1)
    assert maps["cross"].shape[1] == (heads if tokens == 12 and layers == 3 else 1)
    expected = trace.cross[drawn] if maps["cross"].shape[1] > 1 else trace.cross[drawn].mean(axis=1, keepdims=True)
    np.testing.assert_allclose(maps["cross"] / facts["steps"], expected, atol=1.1e-5)
    assert fact_array(facts["target_columns"]).shape == (4 + 3 * len(drawn), tokens, DIMENSIONS)
