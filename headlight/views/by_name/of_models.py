"""Figures of a model, without a sentence: its positions, its training, and how sure it is of sentence pairs."""

from collections.abc import Sequence

import numpy as np

from headlight.views.architecture.figures import gradients_figure
from headlight.views.inside.scaling_figure import largest_figure, spread_figure
from headlight.views.logits.figures import calibration_figure, histogram_figure
from headlight.views.positions import figures as positions
from headlight.views.positions.learned_figure import similarity_figure, table_figure
from headlight.views.questions.figures import norms_figure, share_of_parameters_figure
from headlight.views.training.batching_figure import WAYS, ratios_figure
from headlight.views.training.label_smoothing_figure import MEASURES, loss_figure, targets_figure
from headlight.views.training.learning_rate_figure import rates_figure
from transformer.config import Norm
from transformer.data.batching import Example, count_padding, epoch_batches, make_examples, random_batches
from transformer.data.pairs import TextPairs
from transformer.evaluation import measure_confidence
from transformer.experiments.dot_product_scaling import measure_random_products
from transformer.experiments.initial_gradients import gradient_norms
from transformer.experiments.label_smoothing import Smoothing, SmoothingForm
from transformer.interpret.parameters import WIDTHS, norm_parameters, parameters_at
from transformer.interpret.positions import (
    Encoding,
    distance_law,
    dot_products,
    encoding,
    model_encoding,
    position_rows,
)
from transformer.model.names import Stack
from transformer.training.optimization import Noam
from transformer.translator import Translator

_LENGTH = 64  # positions shown


def _encoding(translator: Translator, length: int, d_model: int | None, base: float | None) -> Encoding:
    """The model's own, or one of these settings."""
    if d_model is None and base is None:
        return model_encoding(translator.model).first(length)
    own = translator.model.config.d_model
    return encoding(length, own if d_model is None else d_model, 10_000.0 if base is None else float(base))


def _curves(translator: Translator, dimensions=(0, 1, 4, 5), length=_LENGTH, d_model=None, base=None):
    return positions.curves_figure(_encoding(translator, length, d_model, base), list(dimensions))


def _matrix(translator: Translator, length=_LENGTH, d_model=None, base=None):
    return positions.matrix_figure(_encoding(translator, length, d_model, base))


def _similarity(translator: Translator, length=_LENGTH, d_model=None, base=None):
    return positions.products_figure(dot_products(_encoding(translator, length, d_model, base)))


def _distance(translator: Translator, length=_LENGTH, d_model=None, base=None):
    """The cosine of two positions over their distance, for these settings and for the model's own."""
    both = _encoding(translator, length, d_model, base), _encoding(translator, length, None, None)
    return positions.distance_figure(*(distance_law(dot_products(each)) for each in both))


def _wavelengths(translator: Translator, length=_LENGTH, d_model=None, base=None):
    return positions.wavelengths_figure(_encoding(translator, length, d_model, base), model_encoding(translator.model))


def _rotation(translator: Translator, pair=4, position=0, offset=5, length=_LENGTH, d_model=None, base=None):
    return positions.rotation_figure(_encoding(translator, length, d_model, base), pair, position, offset)


def _table(translator: Translator, stack="encoder", length=_LENGTH):
    """What a side adds at each position, learned or by a formula."""
    return table_figure(position_rows(translator.model, Stack(stack))[:length])


def _cosines(translator: Translator, stack="encoder", length=_LENGTH):
    """How alike those vectors are."""
    return similarity_figure(position_rows(translator.model, Stack(stack))[:length])


def _parameters(translator: Translator):
    """How many parameters this model has, and would have with other d_model."""
    config = translator.model.config
    return share_of_parameters_figure(parameters_at(config, sorted({*WIDTHS, config.d_model})), config.d_model)


def _norm_parameters(translator: Translator):
    """What all LayerNorms have learned."""
    _, gammas, betas = zip(*norm_parameters(translator.model), strict=True)
    return norms_figure(np.concatenate(gammas), np.concatenate(betas))


def _spread(translator: Translator, seed=1):
    """The standard deviation of the products of random vectors over d_k, with the division by its root and without."""
    return spread_figure(measure_random_products(seed), translator.model.config.d_k)


def _largest(translator: Translator, seed=1):
    """The largest weight that softmax makes of them."""
    return largest_figure(measure_random_products(seed), translator.model.config.d_k)


def _calibration(translator: Translator, pairs: TextPairs):
    """Over pairs of texts: how often the model is right, by how sure it is."""
    return calibration_figure(measure_confidence(translator.model, _examples(translator, pairs)))


def _histogram(translator: Translator, pairs: TextPairs):
    """Over pairs of texts: how sure the model is."""
    return histogram_figure(measure_confidence(translator.model, _examples(translator, pairs)), None)


def _gradients(translator: Translator, pairs: TextPairs, stack="encoder", layers=6, seed=1):
    """Gradient norms of new models of this shape, pre-norm and post-norm, on pairs of texts."""
    config, examples = translator.model.config, _examples(translator, pairs)
    return gradients_figure([gradient_norms(config, norm, layers, examples, seed) for norm in Norm], stack)


def _padding(translator: Translator, pairs: TextPairs, budget=512, seed=1):
    """The share of padding in every batch of pairs of texts, batched by length and at random."""
    examples = _examples(translator, pairs)
    by_length = epoch_batches(examples, budget, 0.0, translator.model.config.max_length, seed)
    both = dict(zip(WAYS, (by_length, random_batches(examples, budget, seed)), strict=True))
    ratios = {way: [count_padding(batch).ratio for batch in batches] for way, batches in both.items()}
    return ratios_figure(ratios, (WAYS[0], ratios[WAYS[0]][0]))


def _examples(translator: Translator, pairs: TextPairs) -> Sequence[Example]:
    return make_examples(pairs, translator.tokenizer, translator.model.config.max_length)


def _learning_rate(translator: Translator, warmup=4000, factor=1.0, steps=20_000, axes="linear"):
    curve = Noam(translator.model.config.d_model, warmup, factor)
    return rates_figure([curve], [curve.rates(steps)], axes)


def _smoothed_targets(translator: Translator, epsilon=0.1, classes=5, form=SmoothingForm.ALL):
    return targets_figure(Smoothing(SmoothingForm(form), epsilon, classes))


def _smoothed_loss(translator: Translator, epsilons=(0.0, 0.1, 0.2), form=SmoothingForm.ALL, measure=MEASURES[0]):
    """The loss over the probability of the right token, for the model's vocabulary."""
    classes = translator.model.config.output_size
    smoothings = [Smoothing(SmoothingForm(form), epsilon, classes) for epsilon in epsilons]
    return loss_figure(smoothings, epsilons[-1], measure)


OF_MODELS = {
    "positional encoding: curves": _curves,
    "positional encoding: matrix": _matrix,
    "positional encoding: similarity": _similarity,
    "positional encoding: distance": _distance,
    "positional encoding: wavelengths": _wavelengths,
    "positional encoding: rotation": _rotation,
    "position table": _table,
    "position cosines": _cosines,
    "parameters": _parameters,
    "gamma and beta": _norm_parameters,
    "standard deviation of the scores": _spread,
    "largest weight": _largest,
    "calibration": _calibration,
    "confidence histogram": _histogram,
    "gradient norms": _gradients,
    "padding": _padding,
    "learning rate": _learning_rate,
    "smoothed targets": _smoothed_targets,
    "smoothed loss": _smoothed_loss,
}
