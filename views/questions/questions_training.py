"""Questions on training and decoding."""

import numpy as np

from plots.text import quoted
from transformer.experiments.label_smoothing import Smoothing, SmoothingForm
from transformer.experiments.parallel_vs_cached import compare_parallel_and_cached
from transformer.training.optimization import Noam
from views.training.label_smoothing_figure import MEASURES, loss_figure
from views.training.learning_rate_figure import rates_figure

from .figures import passes_figure, shift_figure
from .question import Asked, Link, Question, Shown

_WARMUP, _FACTOR = 4000, 1.0  # the paper's, where the checkpoint does not say


def _smoothing(asked: Asked) -> Shown:
    classes = asked.translator.model.config.vocab_size
    settings = asked.translator.checkpoint.settings("label_smoothing")
    own = settings.label_smoothing if settings else 0.1
    smoothings = [Smoothing(SmoothingForm.ALL, epsilon, classes) for epsilon in sorted({0.0, 0.1, own})]
    best, least = Smoothing(SmoothingForm.ALL, own, classes).find_minimum()
    return Shown(
        loss_figure(smoothings, own, MEASURES[0]),
        "The loss over the model's confidence, with and without smoothing",
        f"With this model's ε = {own:g} and {classes:,} pieces the loss is least at p = {best:.4f}, where it is "
        f"{least:.3f}, not 0: the target's own entropy.",
    )


def _rate(asked: Asked) -> Shown:
    settings = asked.translator.checkpoint.settings("schedule", "warmup_steps", "rate_factor")
    warmup, factor = (settings.warmup_steps, settings.rate_factor) if settings else (_WARMUP, _FACTOR)
    curve = Noam(asked.translator.model.config.d_model, warmup, factor)
    rates = curve.rates(4 * warmup)
    return Shown(
        rates_figure([curve], [rates], "linear"),
        "The rate over the steps, with its peak",
        f"With this checkpoint's d_model {curve.d_model}, warm-up {warmup:,} and factor {factor:g} the rate peaks at "
        f"step {int(rates.argmax()) + 1:,} with {rates.max():.2e}; the formula says {curve.peak:.2e}.",
    )


def _shift(asked: Asked) -> Shown:
    fed, following = asked.trace.fed_tokens, asked.trace.next_tokens
    return Shown(
        shift_figure(fed, following),
        "What the decoder is fed in each row, and what it is to predict",
        f"Row 1 is fed {quoted(fed[0])} and is to predict {quoted(following[0])}; the last is fed {quoted(fed[-1])} "
        f"and is to predict {quoted(following[-1])}. The {len(fed)} rows are {len(fed)} tasks in one.",
    )


def _passes(asked: Asked) -> Shown:
    measured = compare_parallel_and_cached(asked.translator.model, asked.trace.source_ids, asked.trace.fed_ids)
    steps = len(asked.trace.fed_ids)
    ratio = np.median(measured.cached) / np.median(measured.parallel)
    return Shown(
        passes_figure(measured),
        "Time of one pass over the target, and of as many steps as it has tokens",
        f"Measured just now: one pass over all {steps} target tokens took {1000 * np.median(measured.parallel):.1f} "
        f"ms, {steps} steps with cached keys and values {1000 * np.median(measured.cached):.1f} ms, {ratio:.1f} "
        f"times as long; their logits differ by at most {measured.difference:.0e}.",
    )


QUESTIONS = (
    Question(
        "smoothing",
        "What does label smoothing do to the loss?",
        "It takes a little mass from the right piece and spreads it over the others, so the loss is least at a "
        "confidence below 1 and never 0: being surer costs. It also makes losses incomparable: a smoothed 2.0 may be "
        "better than an unsmoothed 1.9. The paper (5.4) found perplexity worse and BLEU better.",
        _smoothing,
        Link("pages/training.py", "See both forms and their minima", {"training": "label smoothing"}),
    ),
    Question(
        "warmup",
        "Why does the learning rate rise first?",
        "At random weights Adam's estimates rest on few gradients, and in a post-norm model those near the output "
        "are large: full speed at once throws it off. So the rate rises linearly to warm-up, and falls with the root "
        "of the step after it (paper, equation 3). Pre-norm models can do with little warm-up or none (Xiong et al. "
        "2020).",
        _rate,
        Link("pages/training.py", "Draw the rate for other numbers", {"training": "learning-rate schedule"}),
    ),
    Question(
        "shift",
        "Why is the target shifted?",
        "Each row of the decoder is to predict the token after the one it was fed, so what it is fed begins with the "
        "begin of sentence and lacks the last token: the target, one place to the right. Without the shift a row "
        "would be fed the very token that it is to predict. The mask sees to it that it cannot find it in a later "
        "row either.",
        _shift,
        Link("pages/training.py", "See fed and predicted in a batch", {"training": "batches"}),
    ),
    Question(
        "parallel",
        "Why can training be parallel and decoding not?",
        "In training the whole target is known, so all its rows are computed in one pass, and the mask keeps each "
        "from reading the later ones. In decoding the token of the next step is not known before this step has "
        "ended. What was computed for earlier tokens does not change, though, so their keys and values are kept.",
        _passes,
        Link("pages/decoding.py", "Go through the steps"),
    ),
)
