"""Figures of masks: their cells, labels and numbers."""

import dataclasses

import numpy as np
import pytest
from support.figures import drawn_text

import headlight.plots as plots
from transformer.interpret.mask_ablation import DisabledMask, masked_head, run_masked

SHORT, LONG = 0, 1


@pytest.fixture(scope="module")
def runs(translator):
    sentences = (
        translator.trace("red dog", target="rot Hund"),
        translator.trace("old green bird house tree car", target="alt Vogel Haus Baum Wagen"),
    )
    return {
        disabled: run_masked(translator.model, translator.tokenizer, sentences, disabled) for disabled in DisabledMask
    }


@pytest.fixture(scope="module")
def masked(runs):
    return runs["nothing"]


@pytest.fixture(scope="module")
def decoder(masked):
    return masked_head(masked, "decoder", SHORT, 1, 2)


def grid(masked):
    closed = {"it is padding": ~masked.target_padding_mask[SHORT, 0].repeat(len(masked.causal_mask), 0)}
    closed["it comes later"] = ~masked.causal_mask
    return plots.mask(masked.target_mask[SHORT, 0], masked.decoder_input_tokens[SHORT], closed)


def test_a_mask_is_a_grid_of_filled_and_blank_cells_with_reasons(masked):
    cells, hover = grid(masked).data[0], grid(masked).data[0].hovertext
    np.testing.assert_array_equal(~np.isnan(cells.z), masked.target_mask[SHORT, 0])
    rows, columns = masked.target_mask.shape[2:]
    path = grid(masked).layout.shapes[0].path
    assert path.count("M") == rows + 1 + columns + 1, "blank cells must have their grid"
    real = masked.target_lengths[SHORT]
    assert cells.hoverongaps is True and "may attend to" in hover[2][1]
    assert "may not" in hover[0][1] and hover[0][1].endswith("it comes later")
    assert hover[0][real].endswith("it is padding and it comes later")
    assert hover[real][real].endswith("it is padding")


def test_without_the_mask_leaked_cells_have_another_colour_and_a_sum(decoder, runs):
    leaking, rows = masked_head(runs["causal"], "decoder", SHORT, 1, 2), decoder.real_queries
    figure = plots.without_causal_mask(decoder, leaking, "fed")
    allowed, leaked, total = (trace.z for trace in figure.data[:3])
    later = leaking.unmasked[:rows] & ~decoder.unmasked[:rows]
    np.testing.assert_array_equal(~np.isnan(allowed), decoder.unmasked[:rows])
    np.testing.assert_array_equal(~np.isnan(leaked), later)
    np.testing.assert_allclose(total[:, 0], np.nansum(leaked, axis=1), rtol=1e-5)
    np.testing.assert_allclose(np.nansum(allowed, axis=1) + total[:, 0], 1, atol=1e-5)
    assert figure.layout.xaxis.ticktext[-1] == "leaked"
    assert figure.layout.shapes[1].path.count("M") == rows - 1, "the answer of each row but the last is outlined"
    assert "leaked" in figure.data[1].hovertext[0][1] and "leaked" not in figure.data[0].hovertext[1][0]


def test_token_text_is_escaped_everywhere(masked, runs):
    evil = "<b>x</b>"

    def spoilt(run):
        change = {
            name: tuple((evil, *row[1:]) for row in getattr(run, name))
            for name in ("source_tokens", "decoder_input_tokens", "target_tokens", "best_tokens")
        }
        return dataclasses.replace(run, **change)

    one, other = spoilt(masked), spoilt(runs["causal"])
    heads = [masked_head(run, "decoder", SHORT, 0, 0) for run in (one, other)]
    for figure in (grid(one), plots.without_causal_mask(*heads, "fed"), plots.next_tokens(one, other, SHORT)):
        text = drawn_text(figure)
        assert "&lt;b&gt;x&lt;/b&gt;" in text and evil not in text
