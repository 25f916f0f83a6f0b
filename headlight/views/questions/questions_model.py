"""Questions on the parts around attention, on training and on decoding."""

import numpy as np

from headlight.plots.text import counted, quoted, signed
from headlight.views.architecture.figures import sum_figure, trajectory_figure
from headlight.views.architecture.text import sum_words
from headlight.views.logits.figures import logits_figure
from headlight.views.logits.text import logit_by_hand
from headlight.views.positions.figures import curves_figure
from headlight.views.training.label_smoothing_figure import MEASURES, loss_figure
from headlight.views.training.learning_rate_figure import rates_figure
from transformer.config import Positions, Schedule
from transformer.decoding.truncation import truncate
from transformer.experiments.label_smoothing import Smoothing, SmoothingForm
from transformer.experiments.parallel_vs_cached import compare_parallel_and_cached
from transformer.interpret.parameters import norm_parameters, output_row
from transformer.interpret.positions import MODEL_BASE, encoding, has_formula, model_encoding
from transformer.interpret.residual import trajectory
from transformer.training.optimization import Noam

from .figures import norms_figure, passes_figure, shift_figure
from .question import Asked, Link, Question, Shown

_WARMUP, _FACTOR, _EPSILON = 4000, 1.0, 0.1  # the paper's, where the checkpoint does not say


def _gamma(asked: Asked) -> Shown:
    learned = norm_parameters(asked.translator.model)
    gammas = np.concatenate([gamma for _, gamma, _ in learned])
    betas = np.concatenate([beta for _, _, beta in learned])
    return Shown(
        norms_figure(gammas, betas),
        "Histogram of all γ and β of this checkpoint",
        f"Of this checkpoint's {len(gammas):,} γ the smallest is {signed(gammas.min(), 2)} and the largest "
        f"{gammas.max():.2f}; they began at 1. Its β, which began at 0, go from {signed(betas.min(), 2)} to "
        f"{signed(betas.max(), 2)}.",
    )


def _twice(asked: Asked) -> Shown:
    norm = asked.translator.model.config.norm
    path = trajectory(asked.stream.encoder, min(1, len(asked.trace.source_tokens) - 1))
    last = "and one more at the end of each stack" if norm == "pre" else "and none at the end of a stack"
    return Shown(
        trajectory_figure(path),
        "Norm of one source token's vector after every sub-layer",
        f"This checkpoint is {norm}-norm: one LayerNorm a sub-layer, {last}. The second source token's vector has "
        f"norm {path.norms[1]:.1f} before the encoder's layers and {path.norms[-1]:.1f} at the encoder's end.",
    )


def _generator(asked: Asked) -> Shown:
    tokenizer, logits = asked.translator.tokenizer, asked.stream.logits[0]
    own = truncate(logits)
    best = int(own.order[0])
    row, bias = output_row(asked.translator.model, best)
    return Shown(
        logits_figure(own, tokenizer.piece_text),
        "The largest logits of the first step",
        f"The first step's best, {tokenizer.piece_text(best)}: "
        f"{logit_by_hand(asked.stream.decoder.end[0], row, logits[best], bias)}",
    )


def _scale(asked: Asked) -> Shown:
    side, place = asked.stream.encoder, min(1, len(asked.trace.source_ids) - 1)
    row = asked.translator.model.source_embedding.weight[asked.trace.source_ids[place]].detach().cpu().numpy()
    position = side.summed[place] - side.embedded[place]
    config = asked.translator.model.config
    after = "after scaling" if config.scale_embeddings else "as this model takes it, not scaled"
    lengths = [float(np.linalg.norm(part)) for part in (row, side.embedded[place], position)]
    return Shown(
        sum_figure(row, side.embedded[place], position, side.summed[place], *sum_words(config)),
        "A token's row, scaled, its position, and the sum",
        f"The row of “{asked.trace.source_tokens[place]}” is {lengths[0]:.2f} long, {lengths[1]:.2f} {after}; "
        f"its position's vector {lengths[2]:.2f}.",
    )


def _waves(asked: Asked) -> Shown:
    config, length = asked.translator.model.config, min(64, asked.translator.model.config.max_length)
    own = model_encoding(asked.translator.model) if has_formula(asked.translator.model) else None
    shown = own.first(length) if own else encoding(length, config.d_model, MODEL_BASE)
    dimensions = sorted({0, 1, *(2 * (config.d_model // 16), 2 * (config.d_model // 16) + 1)})
    which = "a slow one, and one that turns faster" if shown.base < 1 else "a fast one, and one that turns more slowly"
    slip = ", with a slip: multiplied where it divides" if shown.base < 1 else ""
    said = (
        f"Two of this model's {config.d_model // 2} pairs: {which}. Its {config.max_length} positions are computed "
        f"from the formula{slip}, and the checkpoint's file does not hold them."
    )
    if config.positions == Positions.NONE:
        said = "This is the paper's formula. This model adds no positions at all."
    if config.positions == Positions.LEARNED:
        said = (
            f"This is the paper's formula. This model has none of it: its {config.max_length} positions a side are "
            "learned, parameters that the checkpoint's file holds."
        )
    return Shown(curves_figure(shown, dimensions), "Two pairs of sine and cosine over the position", said)


def _smoothing(asked: Asked) -> Shown:
    classes = asked.translator.model.config.output_size
    settings = asked.translator.checkpoint.settings("label_smoothing")
    own = settings.label_smoothing if settings else _EPSILON
    smoothings = [Smoothing(SmoothingForm.ALL, epsilon, classes) for epsilon in sorted({0.0, 0.1, own})]
    best, least = Smoothing(SmoothingForm.ALL, own, classes).find_minimum()
    whose = "this model's" if settings else "the paper's"
    entropy = f"{least:.3f}, not 0: the target's own entropy" if own else "0, for nothing is smoothed"
    return Shown(
        loss_figure(smoothings, own, MEASURES[0]),
        "The loss over the probability of the right token, with and without smoothing",
        f"With {whose} ε = {own:g} and {classes:,} tokens the loss is least at p = {best:.4f}, where it is {entropy}.",
    )


def _rate(asked: Asked) -> Shown:
    settings = asked.translator.checkpoint.settings("schedule", "warmup_steps", "rate_factor")
    constant = settings is not None and settings.schedule == Schedule.CONSTANT
    own = settings is not None and not constant
    warmup, factor = (settings.warmup_steps, settings.rate_factor) if own else (_WARMUP, _FACTOR)
    curve = Noam(asked.translator.model.config.d_model, warmup, factor)
    rates = curve.rates(4 * warmup)
    whose = "its" if own else "the paper's"
    other = " It was itself trained with a constant rate after its warm-up." if constant else ""
    return Shown(
        rates_figure([curve], [rates], "linear"),
        "The rate over the steps, with its peak",
        f"With this checkpoint's d_model {curve.d_model}, and {whose} warm-up {warmup:,} and factor {factor:g}, the "
        f"rate peaks at step {int(rates.argmax()) + 1:,} with {rates.max():.2e}; the formula says {curve.peak:.2e}."
        f"{other}",
    )


def _shift(asked: Asked) -> Shown:
    fed, following = asked.trace.fed_tokens, asked.trace.next_tokens
    return Shown(
        shift_figure(fed, following),
        "What the decoder is fed in each row, and what it is to predict",
        f"Row 1 is fed {quoted(fed[0])} and is to predict {quoted(following[0])}; the last is fed {quoted(fed[-1])} "
        f"and is to predict {quoted(following[-1])}. Each row is a task of its own, "
        f"{counted(len(fed), 'task')} in all.",
    )


def _passes(asked: Asked) -> Shown:
    measured = compare_parallel_and_cached(asked.translator.model, asked.trace.source_ids, asked.trace.fed_ids)
    steps = len(asked.trace.fed_ids)
    ratio = np.median(measured.cached) / np.median(measured.parallel)
    return Shown(
        passes_figure(measured),
        "Time of one pass over the target, and of as many steps as it has tokens",
        f"Measured just now: one pass over {counted(steps, 'target token')} took "
        f"{1000 * np.median(measured.parallel):.1f} ms, {counted(steps, 'step')} with cached keys and values "
        f"{1000 * np.median(measured.cached):.1f} ms, {ratio:.1f} times as long; their logits differ by at most "
        f"{measured.difference:.0e}.",
    )


QUESTIONS = (
    Question(
        "gamma",
        "Why do LayerNorm's gamma and beta exist?",
        "LayerNorm forces every vector to mean 0 and standard deviation 1 over its dimensions. γ and β, a number a "
        "dimension each, then let the model choose how large each dimension is and around what it lies: γ stretches, β "
        "moves; they begin at 1 and 0 and are learned. They cannot undo the normalisation, since mean and deviation "
        "differ from vector to vector while γ and β are the same for all. Whether they help is open: Xu et al. 2019 "
        "find that in most of their experiments they do not.",
        _gamma,
        Link("pages/architecture.py", "See a LayerNorm's numbers", {"block": "encoder.0.self_attention_residual"}),
    ),
    Question(
        "twice",
        "Is the norm applied twice?",
        "No: it stands in one of two places. Post-norm (the paper) normalises the sum after each sub-layer; pre-norm "
        "(the Annotated Transformer's code) normalises what the sub-layer reads. Pre-norm leaves the last sum of a "
        "stack as it is, and so needs one more LayerNorm at its end, which looks like a second one.",
        _twice,
        Link(
            "pages/architecture.py",
            "See where it stands, and the gradients",
            {"architecture": "pre-norm and post-norm"},
        ),
    ),
    Question(
        "generator",
        "What does the output projection do, which the Annotated Transformer calls the generator?",
        "It multiplies the decoder's last vector with a row for every token of the vocabulary: one dot product, one "
        "logit for each. Softmax makes probabilities of the logits. The paper gives it no bias, later models do; "
        "and often its matrix is the embedding's (paper, 3.4; Press and Wolf 2017).",
        _generator,
        Link("pages/logits.py", "From the vector to the word"),
    ),
    Question(
        "scale",
        "Why are embeddings multiplied by sqrt(d_model), and may both embeddings share one matrix?",
        "The paper gives no reason for the factor. Here training begins with rows of a standard deviation of 1 / "
        "√d_model, so that as the output projection's matrix they give logits of a moderate size; times √d_model it is "
        "1, of the order of the positions that are added (sine and cosine over whole turns: 0.71). One matrix for both "
        "languages and the output (paper, 3.4) works where both have one vocabulary, as in the shipped checkpoints. It "
        "saves two thirds of these parameters, and a token that is written alike in both languages is learned once.",
        _scale,
        Link("pages/architecture.py", "See rows and neighbours", {"architecture": "embeddings"}),
    ),
    Question(
        "waves",
        "Why sine and cosine, and why a buffer and not a parameter?",
        "For each frequency, the pair at position p + k is the pair at p turned by an angle that depends on k alone, "
        "which the paper hypothesised would make attending by relative position easy to learn (3.5). Nothing in it "
        "is learned (with learned positions the paper's table 3 (E) has nearly the same results), so it is a buffer: "
        "it moves to the GPU with the model, and no optimiser touches it. It is a function of the shape, so it need "
        "not be in the checkpoint either.",
        _waves,
        Link("pages/positions.py", "See the rotation", {"positions": "rotation"}),
    ),
    Question(
        "smoothing",
        "What does label smoothing do to the loss?",
        "It takes a little mass from the right token and spreads it over the vocabulary, so the loss is least at a "
        "probability below 1 and never 0: being surer costs. It also makes losses incomparable: a smoothed 2.0 may be "
        "better than an unsmoothed 1.9. The paper (5.4) found perplexity worse and BLEU better.",
        _smoothing,
        Link("pages/training.py", "See both forms and their minima", {"training": "label smoothing"}),
    ),
    Question(
        "warmup",
        "Why does the learning rate rise first?",
        "The paper does not say; it raises the rate linearly to the end of the warm-up, and lets it fall with the "
        "inverse square root of the step after it (equation 3). Offered since: Adam's estimates rest on few "
        "gradients at first and vary much (Liu et al. 2020, RAdam); in a post-norm model the gradients near the "
        "output are large at the start, and pre-norm models can do with little warm-up or none (Xiong et al. 2020); "
        "post-norm models lean heavily on their sub-layers' outputs, which amplifies every change of the weights, "
        "while unbalanced gradients are not the root cause (Liu et al. 2020, Admin).",
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
