"""Figures of masks: their cells, labels and numbers."""

import numpy as np
import pytest

import headlight.plots as plots
from transformer.interpret.mask_ablation import masked_head, run_masked


@pytest.fixture(scope="module")
def runs(translator):
    sentences = (
        translator.trace("red dog", target="rot Hund"),
        translator.trace("old green bird house tree car", target="alt Vogel Haus Baum Wagen"),
    )
    model, tokenizer = translator.model, translator.tokenizer
    return {mask: run_masked(model, tokenizer, sentences, mask) for mask in ("nothing", "causal")}


def test_a_mask_is_a_grid_of_filled_and_blank_cells_with_reasons(runs):
    masked = runs["nothing"]
    closed = {"it is padding": ~masked.target_padding_mask[0, 0].repeat(len(masked.causal_mask), 0)}
    closed["it comes later"] = ~masked.causal_mask
    figure = plots.mask(masked.target_mask[0, 0], masked.decoder_input_tokens[0], closed)
    cells, hover = figure.data[0], figure.data[0].hovertext
    np.testing.assert_array_equal(~np.isnan(cells.z), masked.target_mask[0, 0])
    real = masked.target_lengths[0]
    assert cells.hoverongaps is True and "may attend to" in hover[2][1]
    assert "may not" in hover[0][1] and hover[0][1].endswith("it comes later")
    assert hover[0][real].endswith("it is padding and it comes later")
    assert hover[real][real].endswith("it is padding")


def test_without_the_mask_leaked_cells_have_another_colour_and_a_sum(runs):
    decoder, leaking = (masked_head(runs[mask], "decoder", 0, 1, 2) for mask in ("nothing", "causal"))
    rows = decoder.real_queries
    figure = plots.without_causal_mask(decoder, leaking, "fed")
    allowed, leaked, total = (trace.z for trace in figure.data[:3])
    later = leaking.unmasked[:rows] & ~decoder.unmasked[:rows]
    np.testing.assert_array_equal(~np.isnan(allowed), decoder.unmasked[:rows])
    np.testing.assert_array_equal(~np.isnan(leaked), later)
    np.testing.assert_allclose(total[:, 0], np.nansum(leaked, axis=1), rtol=1e-5)
    np.testing.assert_allclose(np.nansum(allowed, axis=1) + total[:, 0], 1, atol=1e-5)
    assert figure.layout.xaxis.ticktext[-1] == "leaked"
    assert "leaked" in figure.data[1].hovertext[0][1] and "leaked" not in figure.data[0].hovertext[1][0]
