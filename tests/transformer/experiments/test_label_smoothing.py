"""Label smoothing: both forms against PyTorch's own loss and a plain recomputation, their minima, their figures."""

import math

import numpy as np
import pytest
import torch
from support.small import small_model

from headlight.plots.decoding import confidence
from headlight.plots.training import (
    MEASURES,
    PAD,
    WORDS,
    example_target,
    loss_figure,
    short_mass,
    targets_figure,
)
from transformer import Translator
from transformer.checkpoint import Checkpoint
from transformer.errors import ConfigError
from transformer.experiments.training import Smoothing, SmoothingForm
from transformer.training.optimization import smoothed_cross_entropy

EPSILONS = (0.0, 0.1, 0.35, 0.9)
SIZES = (3, 5, 11)
TARGET = (3, 1, 4, 0, 2, 0)  # of 5 classes or more, with two places of padding


def log_probabilities(classes: int, rows: int = len(TARGET)) -> torch.Tensor:
    generator = torch.Generator().manual_seed(7)
    return torch.randn(rows, classes, dtype=torch.float64, generator=generator).log_softmax(-1)


def at_confidence(p: float, classes: int, right: int, without: int | None = None) -> torch.Tensor:
    """Logits [1, classes] of a model that gives p to the right class, the rest evenly to all others but `without`."""
    others = classes - 1 if without is None else classes - 2
    probabilities = torch.full((1, classes), (1 - p) / others, dtype=torch.float64)
    if without is not None:
        probabilities[0, without] = 0
    probabilities[0, right] = p
    return probabilities.log()


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("classes", [5, 11])
def test_spread_over_all_classes_is_pytorchs_form_and_that_of_headlights_training(epsilon, classes):
    log_p = log_probabilities(classes)
    table = torch.from_numpy(Smoothing(SmoothingForm.ALL, epsilon, classes).targets(TARGET, pad_id=0))
    ours = -(table * log_p).sum()
    ids = torch.tensor(TARGET)
    theirs = torch.nn.CrossEntropyLoss(ignore_index=0, label_smoothing=epsilon, reduction="sum")(log_p, ids)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=0)
    trained = smoothed_cross_entropy(log_p[None], ids[None], pad_id=0, smoothing=epsilon)
    torch.testing.assert_close(ours, trained, rtol=1e-12, atol=0)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("classes", [5, 11])
def test_spread_over_the_others_is_the_annotated_transformers_form(epsilon, classes):
    expected = np.zeros((len(TARGET), classes))  # class by class, as its prose has it
    for row, right in enumerate(TARGET):
        for k in range(classes):
            if right != 0 and k != 0:
                expected[row, k] = 1 - epsilon if k == right else epsilon / (classes - 2)
    table = Smoothing(SmoothingForm.OTHERS, epsilon, classes).targets(TARGET, pad_id=0)
    np.testing.assert_allclose(table, expected, rtol=1e-15)
    log_p = log_probabilities(classes)
    divergence = torch.nn.functional.kl_div(log_p, torch.from_numpy(table), reduction="sum").item()
    smoothing = Smoothing(SmoothingForm.OTHERS, epsilon, classes)
    tokens = sum(right != 0 for right in TARGET)
    assert divergence == pytest.approx(-(table * log_p.numpy()).sum() - tokens * smoothing.entropy)


@pytest.mark.parametrize("form", SmoothingForm)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("classes", SIZES)
def test_a_row_of_a_token_sums_to_one_and_a_row_of_padding_is_empty(form, epsilon, classes):
    smoothing = Smoothing(form, epsilon, classes)
    table = smoothing.targets([1, 2, 0], pad_id=0)
    np.testing.assert_allclose(table.sum(axis=1), [1, 1, 0], atol=1e-15)
    assert table[0, 1] == table[1, 2] == smoothing.right
    assert table[0, 0] == (smoothing.wrong if form == SmoothingForm.ALL else 0)
    assert smoothing.right + smoothing.others * smoothing.wrong == pytest.approx(1)


def test_padding_need_not_be_the_first_class():
    table = Smoothing(SmoothingForm.OTHERS, 0.3, 5).targets([1, 4], pad_id=4)
    assert table[0].tolist() == pytest.approx([0.1, 0.7, 0.1, 0.1, 0]) and not table[1].any()


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("p", [0.05, 0.5, 0.93])
def test_the_loss_at_a_confidence_is_that_of_such_a_model(epsilon, p):
    smoothing = Smoothing(SmoothingForm.ALL, epsilon, 7)
    loss = torch.nn.CrossEntropyLoss(label_smoothing=epsilon)(at_confidence(p, 7, right=4), torch.tensor([4]))
    assert smoothing.cross_entropy(p) == pytest.approx(loss.item(), rel=1e-12)
    smoothing = Smoothing(SmoothingForm.OTHERS, epsilon, 7)
    log_p = at_confidence(p, 7, right=4, without=0)
    row = torch.from_numpy(smoothing.targets([4], pad_id=0))
    divergence = torch.nn.functional.kl_div(log_p[:, 1:], row[:, 1:], reduction="sum").item()
    assert smoothing.divergence(p) == pytest.approx(divergence, abs=1e-12)


@pytest.mark.parametrize("form", SmoothingForm)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("classes", [*SIZES, 8000])
def test_the_search_finds_the_minimum_of_the_closed_form(form, epsilon, classes):
    smoothing = Smoothing(form, epsilon, classes)
    best, least = smoothing.find_minimum()
    assert best == pytest.approx(smoothing.right, abs=1e-6)
    assert least == pytest.approx(smoothing.entropy, abs=1e-12)
    for p in (best - 0.01, best + 0.01):
        if 0 < p < 1:
            assert smoothing.cross_entropy(p) > least
    assert smoothing.divergence(smoothing.right) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("form", SmoothingForm)
def test_with_smoothing_the_best_confidence_is_not_one_and_without_it_is(form):
    assert Smoothing(form, 0.1, 5).right == pytest.approx({SmoothingForm.ALL: 0.92, SmoothingForm.OTHERS: 0.9}[form])
    assert Smoothing(form, 0.1, 5).cross_entropy(1.0) == math.inf
    plain = Smoothing(form, 0.0, 5)
    assert plain.right == 1 and plain.cross_entropy(1.0) == plain.entropy == 0
    assert plain.cross_entropy(0.25) == pytest.approx(math.log(4)) and plain.cross_entropy(0.0) == math.inf


@pytest.mark.parametrize(
    "settings, message",
    [
        ((SmoothingForm.ALL, -0.1, 5), "at least 0 and less than 1, not -0.1"),
        ((SmoothingForm.OTHERS, 1.0, 5), "less than 1, not 1.0"),
        ((SmoothingForm.ALL, math.nan, 5), "not nan"),
        ((SmoothingForm.OTHERS, 0.1, 2), "at least 3 classes"),
        (("some", 0.1, 5), "not 'some'"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(settings, message):
    with pytest.raises(ConfigError, match=message):
        Smoothing(*settings)
    with pytest.raises(ValueError, match="between 0 and 1"):
        Smoothing(SmoothingForm.ALL, 0.1, 5).cross_entropy(1.1)


@pytest.mark.parametrize("form", SmoothingForm)
@pytest.mark.parametrize("classes", [4, 5, 9, len(WORDS)])
def test_the_heatmap_has_positions_as_rows_and_classes_as_columns(form, classes):
    smoothing = Smoothing(form, 0.1, classes)
    figure = targets_figure(smoothing)
    ids = example_target(classes)
    assert max(ids) < classes and ids[-2:] == [1, PAD]
    np.testing.assert_allclose(figure.data[0].z[:-1], smoothing.targets(ids, PAD)[:-1], rtol=1e-6)
    assert np.isnan(figure.data[0].z[-1]).all(), "nothing is trained at padding"
    assert figure.layout.xaxis.ticktext[0] == "⟨pad⟩" and len(figure.layout.xaxis.ticktext) == classes
    assert list(figure.layout.yaxis.ticktext)[-2:] == ["⟨end⟩", "⟨pad⟩"]
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1], "the first position on top"
    assert (figure.data[0].zmin, figure.data[0].zmax) == (0, 1)
    assert "the right one" in figure.data[0].hovertext[0][ids[0]] and "nothing" in figure.data[0].hovertext[-1][0]


def test_masses_in_cells_are_short():
    assert [short_mass(m) for m in (0.92, 0.02, 1 / 30, 1.0, 0.0, 0.0001)] == [".92", ".02", ".033", "1", "0", "0"]


@pytest.mark.parametrize("measure", MEASURES)
def test_each_epsilon_has_a_curve_and_its_minimum_marked(measure):
    smoothings = [Smoothing(SmoothingForm.OTHERS, epsilon, 6) for epsilon in (0.0, 0.1, 0.4)]
    figure = loss_figure(smoothings, 0.4, measure)
    curves, minima = figure.data[0::2], figure.data[1::2]
    for smoothing, curve, minimum in zip(smoothings, curves, minima, strict=True):
        loss = smoothing.cross_entropy if measure == "cross-entropy" else smoothing.divergence
        np.testing.assert_allclose(curve.y, [loss(float(p)) for p in curve.x], rtol=1e-3, atol=1e-5)
        assert minimum.x[0] == pytest.approx(smoothing.right, abs=1e-6)
        assert minimum.y[0] == pytest.approx(loss(smoothing.right), abs=1e-9)
        assert minimum.name == f"ε {smoothing.epsilon:g}: least {abs(minimum.y[0]):.3f} at p = {smoothing.right:.3f}"
        assert min(curve.y) >= minimum.y[0] - 1e-6
    assert [curve.line.width for curve in curves] == [2, 2, 4], "the chosen one is thicker"
    assert figure.layout.yaxis.title.text == f"{measure}, nats"


def test_the_confidence_is_drawn_beside_the_least_loss(tokenizer):
    translator = Translator(Checkpoint(small_model(vocab_size=len(tokenizer)), tokenizer))
    trace = translator.trace("red dog.", target="rot Hund.")
    figure = confidence(trace, best=0.9)
    np.testing.assert_array_equal(figure.data[0].x, trace.target_probabilities)
    assert list(figure.data[1].x) == [0.9] * 2
