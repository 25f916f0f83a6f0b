"""Maps cut out of a trace: averages, labels, and tokens left out."""

import numpy as np
import pytest

from transformer.interpret.trace import attention_map, masked_maps

SOURCE, TARGET = "red dog", "rot Hund Haus"


@pytest.fixture(scope="module")
def trace(translator):
    return translator.trace(SOURCE, target=TARGET)


def test_one_head_is_the_traces_own_map(trace):
    chosen = attention_map(trace, "cross", 1, 2)
    np.testing.assert_array_equal(chosen.weights, trace.cross[1, 2])
    assert chosen.keys == trace.source_tokens


@pytest.mark.parametrize("layer, head, axes", [(None, None, (0, 1)), (0, None, 0), (None, 1, 0)])
def test_averages_go_over_what_is_not_chosen(trace, layer, head, axes):
    maps = trace.encoder if layer is None else trace.encoder[layer]
    maps = maps if head is None else maps[:, head]
    np.testing.assert_allclose(attention_map(trace, "encoder", layer, head).weights, maps.mean(axes), rtol=1e-6)


def test_cells_of_later_tokens_are_nan_and_only_they(trace):
    masked = np.isnan(masked_maps(trace, "decoder"))
    assert (masked == np.triu(np.ones(masked.shape[-2:], bool), 1)).all()
    assert not np.isnan(masked_maps(trace, "cross")).any()


def test_a_decoder_row_has_the_token_it_was_fed_and_the_one_it_predicts(trace):
    fed, predicted = (attention_map(trace, "decoder", row_label=name) for name in ("fed", "predicted"))
    assert fed.queries == ("<s>", *trace.target_tokens[:-1])
    assert predicted.queries == trace.target_tokens
    assert fed.keys == predicted.keys == trace.decoder_input_tokens
    both = attention_map(trace, "decoder", row_label="both").queries
    pairs = zip(trace.decoder_input_tokens, trace.target_tokens, strict=True)
    assert both == tuple(" → ".join(pair) for pair in pairs)


def test_an_encoder_row_has_its_own_token_whatever_is_asked(trace):
    for row_label in ("predicted", "both"):
        assert attention_map(trace, "encoder", row_label=row_label).queries == trace.source_tokens


@pytest.mark.parametrize(
    "arguments", [("sideways",), ("cross", 99), ("cross", 0, 99), ("cross", -1), ("cross", 0, 0, "all")]
)
def test_what_the_trace_has_not_is_refused(trace, arguments):
    with pytest.raises(ValueError):
        attention_map(trace, *arguments)
