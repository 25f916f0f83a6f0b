"""The figures and sentences of the page on masks: what is drawn, how it is labelled, whose numbers they are."""

import dataclasses

import numpy as np
import pytest

from headlight.plots.heatmap import mask_figure
from headlight.plots.text import chance_words, percent
from headlight.views.masks import text as captions
from headlight.views.masks.figures import (
    leaking_figure,
    masked_scores_figure,
    masked_weights_figure,
    next_tokens_figure,
    scores_figure,
    weights_figure,
)
from headlight.views.masks.text import row_by_hand, row_words
from transformer.interpret.mask_ablation import DisabledMask, leaked_weights, masked_head, run_masked

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


@pytest.fixture(scope="module")
def leaking(runs):
    return masked_head(runs["causal"], "decoder", SHORT, 1, 2)


def grid(masked):
    closed = {"it is padding": ~masked.target_padding_mask[SHORT, 0].repeat(len(masked.causal_mask), 0)}
    closed["it comes later"] = ~masked.causal_mask
    return mask_figure(masked.target_mask[SHORT, 0], masked.fed_tokens[SHORT], closed)


def test_a_mask_is_a_grid_of_filled_and_blank_cells(masked):
    figure = grid(masked)
    np.testing.assert_array_equal(~np.isnan(figure.data[0].z), masked.target_mask[SHORT, 0])
    rows, columns = masked.target_mask.shape[2:]
    path = figure.layout.shapes[0].path
    assert path.count("M") == rows + 1 + columns + 1, "blank cells must have their grid"


def test_hovering_a_mask_says_why_a_cell_is_masked(masked):
    hover = grid(masked).data[0].hovertext
    real = masked.target_lengths[SHORT]
    assert grid(masked).data[0].hoverongaps is True
    assert "may attend to" in hover[2][1]
    assert "may not" in hover[0][1] and hover[0][1].endswith("it comes later")
    assert hover[0][real].endswith("it is padding and it comes later")
    assert hover[real][real].endswith("it is padding")


@pytest.mark.parametrize("figure_of", [scores_figure, masked_scores_figure, weights_figure, masked_weights_figure])
def test_rows_run_from_top_to_bottom_and_keys_stand_on_top_with_integer_ticks(decoder, figure_of):
    layout = figure_of(decoder, "predicted").layout
    assert layout.yaxis.range[0] > layout.yaxis.range[1], "the first row must be on top"
    assert layout.xaxis.side == "top" and layout.yaxis.scaleanchor == "x"
    assert [value for value in layout.xaxis.tickvals if value < len(decoder.keys)] == list(range(len(decoder.keys)))
    assert layout.xaxis.ticktext[-2 if layout.xaxis.tickvals[-1] > len(decoder.keys) else -1] == "&lt;pad&gt;"
    assert "output" in layout.yaxis.title.text and "input" in layout.xaxis.title.text


def test_row_names_are_what_was_fed_or_what_is_predicted(decoder, masked):
    fed, predicted = (scores_figure(decoder, label).layout.yaxis for label in ("fed", "predicted"))
    assert fed.ticktext[1] == masked.fed_tokens[SHORT][1] and "input" in fed.title.text
    assert predicted.ticktext[0] == masked.next_tokens[SHORT][0] == fed.ticktext[1]


def test_scores_are_drawn_around_zero_on_one_scale_and_masked_cells_go_blank(decoder):
    before, after = scores_figure(decoder, "fed").data[0], masked_scores_figure(decoder, "fed").data[0]
    np.testing.assert_array_equal(before.z, decoder.scores)
    assert before.zmin == -before.zmax == after.zmin == -np.abs(decoder.scores).max()
    np.testing.assert_array_equal(np.isnan(after.z), ~decoder.unmasked)
    np.testing.assert_array_equal(after.z[decoder.unmasked], decoder.scores[decoder.unmasked])
    assert "minus infinity" in after.hovertext[0][1] and "minus infinity" not in before.hovertext[0][1]
    assert after.hoverongaps is True


def test_weights_go_from_zero_to_one_with_blank_cells_and_their_numbers(decoder):
    figure = weights_figure(decoder, "fed")
    assert (figure.data[0].zmin, figure.data[0].zmax) == (0, 1)
    np.testing.assert_array_equal(np.isnan(figure.data[0].z), ~decoder.unmasked)
    np.testing.assert_array_equal(figure.data[0].z[decoder.unmasked], decoder.weights[decoder.unmasked])
    assert len(figure.data[1].text) == decoder.unmasked.sum(), "a number in each unmasked cell"
    assert figure.data[0].z.dtype == np.float32


def test_hover_names_head_both_tokens_and_the_value_and_padding_as_such(decoder):
    hover = weights_figure(decoder, "fed").data[0].hovertext
    for words in ("Layer 2, head 3", decoder.fed[1], decoder.predicted[1], f"{decoder.weights[1, 0]:.4f}"):
        assert words in hover[1][0]
    assert "a row of padding" in hover[decoder.real_queries][0]


def test_without_the_mask_leaked_cells_have_a_colour_and_a_sum_of_their_own(decoder, leaking):
    figure = leaking_figure(decoder, leaking, "fed")
    allowed, leaked, total = (trace.z for trace in figure.data[:3])
    rows = decoder.real_queries
    later = leaking.unmasked[:rows] & ~decoder.unmasked[:rows]
    np.testing.assert_array_equal(~np.isnan(allowed), decoder.unmasked[:rows])
    np.testing.assert_array_equal(~np.isnan(leaked), later)
    np.testing.assert_allclose(total[:, 0], np.nansum(leaked, axis=1), rtol=1e-6)
    np.testing.assert_allclose(np.nansum(allowed, axis=1) + total[:, 0], 1, atol=1e-6)
    assert figure.data[2].x0 == len(decoder.keys) + 1 == figure.layout.xaxis.tickvals[-1]
    assert figure.layout.xaxis.ticktext[-1] == "leaked"
    assert figure.layout.xaxis.range == masked_weights_figure(decoder, "fed").layout.xaxis.range, "same size"
    assert figure.layout.shapes[1].path.count("M") == rows - 1, "the answer of each row but the last is outlined"
    assert "leaked" in figure.data[1].hovertext[0][1] and "leaked" not in figure.data[0].hovertext[1][0]


def test_the_next_tokens_have_a_dot_for_each_of_both_runs(masked, runs):
    figure = next_tokens_figure(masked, runs["padding"], SHORT)
    steps = masked.target_lengths[SHORT]
    _, before, after = figure.data
    np.testing.assert_array_equal(before.x, masked.next_probabilities[SHORT, :steps])
    np.testing.assert_array_equal(after.x, runs["padding"].next_probabilities[SHORT, :steps])
    assert (before.name, after.name) == ("with the mask", "without the mask")
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]
    assert list(figure.layout.yaxis.tickvals) == list(range(steps))
    assert figure.layout.yaxis.ticktext[1] == f"{masked.fed_tokens[SHORT][1]} → {masked.next_tokens[SHORT][1]}"
    assert f"{after.x[1]:.4f}" in after.hovertext[1] and runs["padding"].best_tokens[SHORT][1] in after.hovertext[1]


def test_token_text_is_escaped_everywhere(masked, runs):
    evil = "<b>x</b>"

    def spoilt(run):
        change = {
            name: tuple((evil, *row[1:]) for row in getattr(run, name))
            for name in ("source_tokens", "fed_tokens", "next_tokens", "best_tokens")
        }
        return dataclasses.replace(run, **change)

    one, other = spoilt(masked), spoilt(runs["causal"])
    heads = [masked_head(run, "decoder", SHORT, 0, 0) for run in (one, other)]
    figures = [
        grid(one),
        scores_figure(heads[0], "fed"),
        masked_scores_figure(heads[0], "predicted"),
        weights_figure(heads[0], "fed"),
        leaking_figure(*heads, "fed"),
        next_tokens_figure(one, other, SHORT),
    ]
    for figure in figures:
        text = figure.to_json().encode().decode("unicode_escape")
        assert "&lt;b&gt;x&lt;/b&gt;" in text and evil not in text


def test_long_sentences_keep_labels_apart_and_leave_numbers_out(decoder):
    tokens = ("token",) * 60
    many = np.full((60, 60), 1 / 60, dtype=np.float32)
    long = dataclasses.replace(
        decoder,
        scores=many,
        weights=many,
        unmasked=many > 0,
        keys=tokens,
        fed=tokens,
        predicted=tokens,
        real_queries=60,
    )
    figure = weights_figure(long, "fed")
    assert len(figure.data) == 1
    assert 20 <= len(figure.layout.xaxis.tickvals) <= 30
    assert figure.data[0].hovertext[59][59]
    assert figure.layout.shapes[0].path.count("M") == 4, "an outline without lines between cells of a few pixels"


def test_a_row_by_hand_ends_at_the_models_own_weight(decoder):
    for row in range(len(decoder.fed)):
        lines = dict(row_by_hand(decoder, row))
        powers = np.where(decoder.unmasked[row], np.exp(decoder.scores[row].astype(np.float64)), 0)
        total = f"{powers.sum():.4g}" if powers.sum() < 1000 else f"{powers.sum():,.0f}"
        assert lines["the model's weight"] == lines[f"exp / {total}"]
        assert [text == "−∞" for text in lines["after the mask"]] == (~decoder.unmasked[row]).tolist()
        cells = "cell" if decoder.unmasked[row].sum() == 1 else "cells"
        assert f"unmasked {cells} is {total}." in row_words(decoder, row)
        assert f"own is {decoder.weights[row].max():.4f}" in row_words(decoder, row)


def test_the_counts_of_masked_cells_are_the_masks(masked):
    size, real = masked.target_mask.shape[-1], masked.target_lengths[SHORT]
    text = captions.describe_masks(masked, SHORT)
    padding, causal = (size - real) * size, size * (size - 1) // 2
    together = size * size - int(masked.target_mask[SHORT].sum())
    assert f"covers {padding} of {size * size} cells, the causal mask {causal}, both together {together}" in text
    assert "causal mask alone" in text
    assert "no padding to mask here: compare the other" in captions.describe_masks(masked, LONG)
    source = masked.source_mask.shape[-1]
    closed = source - masked.source_lengths[SHORT]
    text = captions.describe_source_mask(masked, SHORT)
    assert f"{closed} of {source} columns" in text and f"{closed * source} of {source * source} cells" in text
    assert f"{closed * size} of {size * source}" in text


def test_the_shapes_are_those_of_the_arrays(masked):
    text = captions.describe_shapes(masked)
    for array in (masked.source_mask, masked.target_mask, masked.target_padding_mask, masked.causal_mask):
        assert str(list(array.shape)) in text
    assert str(list(masked.next_probabilities.shape)) in text


def test_what_a_head_would_give_to_masked_cells_is_stated_or_that_there_are_none(decoder, masked):
    powers = np.exp(decoder.scores.astype(np.float64))[: decoder.real_queries]
    shares = np.where(decoder.unmasked[: decoder.real_queries], 0, powers).sum(1) / powers.sum(1)
    text = captions.describe_head(decoder)
    assert percent(shares.max()) in text and f"in row {shares.argmax() + 1} " in text
    assert f"covers {(~decoder.unmasked).sum()} of {decoder.unmasked.size} cells" in text
    assert "cells are unmasked" in captions.describe_head(masked_head(masked, "cross", LONG, 0, 0))


def test_the_leak_of_a_head_and_the_leakiest_head_are_named(masked, runs, decoder):
    leaked = leaked_weights(masked, runs["causal"], "decoder", SHORT)[..., :-1].mean(-1)
    layer, head = np.unravel_index(leaked.argmax(), leaked.shape)
    text = captions.describe_leak(masked, runs["causal"], decoder)
    assert f"{leaked[1, 2]:.2f} of the weight of a row that has masked cells now goes to later tokens" in text
    best = masked_head(masked, "decoder", SHORT, int(layer), int(head))
    if (layer, head) != (1, 2):
        assert f"try layer {layer + 1}, head {head + 1}, where the most leaks on average: {leaked.max():.2f}" in text
    assert "the most of all heads" in captions.describe_leak(masked, runs["causal"], best)
    cross = masked_head(masked, "cross", LONG, 0, 0)
    assert captions.describe_leak(masked, runs["padding"], cross) == "", "nothing can leak without padding"


def test_the_weight_on_the_answer_is_that_of_the_cell_right_of_the_diagonal(runs, decoder):
    weights = runs["causal"].decoder.weights[1, SHORT, 2]
    mean = np.mean([weights[row, row + 1] for row in range(decoder.real_queries - 1)])
    assert f"{mean:.2f} on average" in captions.describe_answer(runs["causal"], decoder)


@pytest.mark.parametrize("disabled", ["causal", "padding"])
def test_the_change_of_the_next_tokens_is_stated_with_its_numbers(masked, runs, disabled):
    steps = masked.target_lengths[SHORT]
    before, after = (run.next_probabilities[SHORT, :steps] for run in (masked, runs[disabled]))
    step = int(np.abs(after - before).argmax())
    text = captions.describe_predictions(masked, runs[disabled], SHORT)
    assert f"Step {step + 1} changed most: “{masked.next_tokens[SHORT][step]}”" in text
    had, has = chance_words(float(before[step])), chance_words(float(after[step]))
    assert f"had {had} with the mask and has {has} without" in text
    assert f"rose in {(after > before).sum()} and fell in {(after < before).sum()}" in text
    firsts = [run.best_tokens[SHORT][:steps] for run in (masked, runs[disabled])]
    changed = sum(one != other for one, other in zip(*firsts, strict=True))
    assert (f"at {changed} of {steps} steps" in text) == bool(changed)


def test_the_verdict_on_cheating_follows_the_numbers(masked, runs):
    better, worse = (
        dataclasses.replace(runs["causal"], next_probabilities=masked.next_probabilities * factor)
        for factor in (1.5, 0.5)
    )
    assert "did not help" in captions.describe_cheating(masked, worse, SHORT)
    gain = 0.5 * masked.next_probabilities[SHORT, : masked.target_lengths[SHORT]].mean()
    assert f"helped: {gain:+.2f} on average" in captions.describe_cheating(masked, better, SHORT)


def test_a_sentence_without_padding_is_unchanged_and_the_other_one_named(masked, runs):
    text = captions.describe_no_padding(masked, runs["padding"], LONG)
    assert "sentence 2 has no padding" in text and "choose sentence 1" in text
    assert "never attended to padding" in captions.describe_reading_padding(masked, SHORT)
