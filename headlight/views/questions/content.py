"""The page's questions: each with its answer in words, a figure of the loaded model, and where to go on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import plotly.graph_objects as go

from headlight.plots.architecture import layer_norms, parameters, sum_figure, sum_words, trajectory_figure
from headlight.plots.attention import largest_figure, overview_figure
from headlight.plots.decoding import PRESENTED, logits_figure, passes_figure
from headlight.plots.heatmap import attention_map_figure
from headlight.plots.masks import causal_mask, fully_masked_row_figure
from headlight.plots.positional_encoding import curves_figure
from headlight.plots.text import (
    Finding,
    format_error,
    norm_name,
    one_head_name,
    percent,
    pluralize,
    quoted,
    scientific,
    signed,
)
from headlight.plots.training import MEASURES, loss_figure, rates_figure, shifted_target
from headlight.views.home.lines_content import strongest_reading
from headlight.views.inside.scaling_content import describe_random
from headlight.views.research.logits_content import logit_by_hand
from transformer import Translator
from transformer.config import ModelConfig, NormType, Positions, Schedule
from transformer.decoding.sampling import truncate
from transformer.experiments.attention import fully_masked_row, measure_random_products
from transformer.experiments.training import Smoothing, SmoothingForm, compare_parallel_and_cached
from transformer.interpret.head_patterns import measure_heads, representative_heads
from transformer.interpret.parameters import WIDTHS, blocks_of, norm_parameters, output_row, parameters_at
from transformer.interpret.positions import MODEL_BASE, encoding, has_formula, model_encoding
from transformer.interpret.residual import ResidualStream, trajectory
from transformer.interpret.trace import Trace, attention_map, masked_maps
from transformer.training.optimization import Noam

_WARMUP, _FACTOR, _EPSILON = 4000, 1.0, 0.1  # the paper's, for a checkpoint that does not say


_NOT_DIVIDED = (
    " This model is one of those that do not divide: T5 begins its training with smaller queries instead, which "
    "spreads the first products no more than the division would."
)


@dataclass(frozen=True)
class Asked:
    """What an answer draws on: the model, the sentence, its vectors, and a result that only one answer needs."""

    translator: Translator
    trace: Trace
    stream: ResidualStream
    scores: Callable[[], list[float]]  # of the first source token in layer 1, head 1 of the encoder


@dataclass(frozen=True)
class Shown:
    """A figure, its name for screen readers, and what to see in it, computed from this example."""

    figure: go.Figure
    alt: str
    headline: str
    more: str = ""

    @property
    def see(self) -> Finding:
        """Return what to see as a finding."""
        return Finding(self.headline, self.more)


@dataclass(frozen=True)
class Link:
    """Where to go on: a page's script, the link's label, and what the address has besides."""

    page: str
    label: str
    query: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Question:
    """A question, an answer of some three sentences in Markdown, its figure, and a link; `name` is unique."""

    name: str
    question: str
    answer: str
    show: Callable[[Asked], Shown]
    link: Link


def _widths(asked: Asked) -> Shown:
    config = asked.translator.model.config
    counts = parameters_at(config, sorted({*WIDTHS, config.d_model}))
    count = counts[config.d_model]
    blocks = blocks_of(asked.translator.model, asked.stream)
    embedding = sum(block.parameters for block in blocks if block.kind == "embedding")
    return Shown(
        parameters(asked.translator),
        "Parameters of this model's shape at several widths",
        f"This checkpoint has {count:,} parameters, {percent(embedding / count)} in its embeddings.",
        f"Its d_model is {config.d_model}."
        + (f" With 512 the same layers would have {counts[512]:,}." if config.d_model != 512 else ""),
    )


def _heads(asked: Asked) -> Shown:
    maps = masked_maps(asked.trace, "cross")
    measured = measure_heads("cross", maps, asked.trace.source_tokens, asked.trace.target_tokens)
    plain = [
        f"{one_head_name(head.layer, head.head)} ({head.label})"
        for head in representative_heads(measured)
        if head.label is not None
    ]
    return Shown(
        overview_figure(maps, asked.trace.target_tokens, asked.trace.source_tokens),
        f"Cross-attention of {maps.shape[0]} layers by {maps.shape[1]} heads",
        f"{sum(head.label is not None for head in measured)} of {pluralize(len(measured), 'head')} have a plain "
        "pattern in this sentence.",
        f"Among them {', '.join(plain)}." if plain else "",
    )


def _root(asked: Asked) -> Shown:
    spread = measure_random_products(1)
    found = describe_random(spread)
    return Shown(
        largest_figure(spread, asked.translator.model.config.d_k),
        "The largest weight of a row of random vectors over d_k, with the division and without",
        found.headline,
        found.more + ("" if asked.translator.model.config.scale_scores else _NOT_DIVIDED),
    )


def _weights(asked: Asked) -> Shown:
    chosen = attention_map(asked.trace, "cross", asked.trace.cross.shape[0] - 1, None, "predicted")
    found = strongest_reading(chosen)
    return Shown(
        attention_map_figure(chosen),
        "Cross-attention of the last layer, averaged over its heads",
        found.headline if found else "No weight lies between two words here.",
        found.more if found else "",
    )


def _masks(asked: Asked) -> Shown:
    count = len(asked.trace.decoder_input_tokens)
    return Shown(
        causal_mask(asked.trace),
        "The target mask of this sentence",
        f"The target mask hides {count * (count - 1) // 2} of {pluralize(count**2, 'cell')}.",
        f"The source mask, over {pluralize(len(asked.trace.source_tokens), 'token')}, hides nothing: a sentence "
        "alone has no padding.",
    )


def _infinity(asked: Asked) -> Shown:
    scores = asked.scores()
    result = fully_masked_row(scores)
    return Shown(
        fully_masked_row_figure(result, asked.trace.source_tokens),
        "Weights of a row without an unmasked key, by the three ways",
        f"With every key masked, −1e9 gives each of {len(scores)} keys {result.with_large_number[0]:.4f}.",
        f"The fused kernel gives {result.fused[0]:.0f}, and −∞ no number at all: the row of "
        f"{quoted(asked.trace.source_tokens[0])} in layer 1, head 1 of the encoder.",
    )


def _gamma(asked: Asked) -> Shown:
    learned = norm_parameters(asked.translator.model)
    gammas = np.concatenate([gamma for _, gamma, _ in learned])
    betas = np.concatenate([beta for _, _, beta in learned])
    if asked.translator.model.config.norm_type == NormType.RMS:
        return Shown(
            layer_norms(asked.translator),
            "Histogram of all γ of this checkpoint",
            f"The γ, which began at 1, go from {signed(gammas.min(), 2)} to {signed(gammas.max(), 2)}.",
            f"There are {len(gammas):,}, and no β: this model has RMSNorm, which divides each vector by its root mean "
            "square, subtracts no mean and adds nothing (Zhang and Sennrich 2019).",
        )
    return Shown(
        layer_norms(asked.translator),
        "Histogram of all γ and β of this checkpoint",
        f"The γ, which began at 1, go from {signed(gammas.min(), 2)} to {signed(gammas.max(), 2)}.",
        f"There are {len(gammas):,}; the β, which began at 0, go from {signed(betas.min(), 2)} to "
        f"{signed(betas.max(), 2)}.",
    )


def _twice(asked: Asked) -> Shown:
    config = asked.translator.model.config
    path = trajectory(asked.stream.encoder, _second(asked))
    before = float(np.linalg.norm(asked.stream.encoder.start[_second(asked)]))
    last = "One more ends each stack" if config.norm == "pre" else "None ends a stack"
    first = ", and one follows the embedding" if config.embedding_norm else ""
    return Shown(
        trajectory_figure(path, norm_name(config)),
        "Norm of the second source token's vector after every sub-layer",
        f"This checkpoint is {config.norm}-norm: one {norm_name(config)} per sub-layer.",
        f"{last}{first}. The second source token's vector has norm {before:.1f} before the encoder's "
        f"layers and {path.norms[-1]:.1f} at the encoder's end.",
    )


def _generator(asked: Asked) -> Shown:
    tokenizer, logits = asked.translator.tokenizer, asked.stream.logits[0]
    cut = truncate(logits)
    best = int(cut.order[0])
    row, bias = output_row(asked.translator.model, best)
    return Shown(
        logits_figure(cut, tokenizer.piece_text, PRESENTED),
        "The largest logits of the first step",
        f"{quoted(tokenizer.piece_text(best))} has the largest logit of step 1: {signed(float(logits[best]), 2)}.",
        f"By hand: {logit_by_hand(asked.stream.decoder.end[0], row, logits[best], bias)}",
    )


def _scale(asked: Asked) -> Shown:
    side, index, config = asked.stream.encoder, _second(asked), asked.translator.model.config
    row = asked.translator.model.source_embedding.weight[asked.trace.source_ids[index]].detach().cpu().numpy()
    parts = row, side.embedded[index], side.summed[index] - side.embedded[index]
    own, scaled, position = (float(np.linalg.norm(part)) for part in parts)
    after = f"{scaled:.2f} after scaling" if config.scale_embeddings else "and is not scaled"
    return Shown(
        sum_figure(*parts, side.summed[index], *sum_words(config)),
        "A token's row, scaled, its position, and the sum",
        f"The row of {quoted(asked.trace.source_tokens[index])} is {own:.2f} long, {after}.",
        f"Its position's vector is {position:.2f} long."
        if position
        else "No position is added to it." + _output_scale(config),
    )


def _output_scale(config: ModelConfig) -> str:
    if not config.scale_output:
        return ""
    return (
        " As one matrix serves both ends, the decoder's last vector is divided by √d_model instead, before the output."
    )


def _second(asked: Asked) -> int:
    return min(1, len(asked.trace.source_ids) - 1)


def _waves(asked: Asked) -> Shown:
    config, length = asked.translator.model.config, min(64, asked.translator.model.config.max_length)
    own = model_encoding(asked.translator.model) if has_formula(asked.translator.model) else None
    shown = own.first(length) if own else encoding(length, config.d_model, MODEL_BASE)
    dimensions = sorted({0, 1, *(2 * (config.d_model // 16), 2 * (config.d_model // 16) + 1)})
    slip = ", with a slip: multiplied where it divides" if shown.base < 1 else ""
    papers = "What is drawn is the paper's formula."
    said = {
        Positions.NONE: ("This model adds no positions at all.", papers),
        Positions.LEARNED: ("This model's positions are learned, parameters in its file.", papers),
        Positions.RELATIVE: (
            "This model adds no positions: its scores have a bias by distance.",
            f"That is learned, a number for each head and bucket of distances. {papers}",
        ),
    }.get(
        config.positions,
        (
            f"This model's {config.max_length:,} positions are computed, not stored.",
            f"Two of its {config.d_model // 2} pairs are drawn. The file need not hold what is computed from the "
            f"formula{slip}.",
        ),
    )
    return Shown(curves_figure(shown, dimensions), "Two pairs of sine and cosine over the position", *said)


def _smoothing(asked: Asked) -> Shown:
    classes = asked.translator.model.config.output_size
    settings = asked.translator.checkpoint.settings("label_smoothing")
    own = settings.label_smoothing if settings else _EPSILON
    smoothings = [Smoothing(SmoothingForm.ALL, epsilon, classes) for epsilon in sorted({0.0, 0.1, own})]
    best, least = Smoothing(SmoothingForm.ALL, own, classes).find_minimum()
    whose = "this model's" if settings else "the paper's"
    return Shown(
        loss_figure(smoothings, own, MEASURES[0]),
        "The loss over the probability of the right token, with and without smoothing",
        f"With ε = {own:g} the loss is least at p = {best:.4f}.",
        f"That ε is {whose}, over {classes:,} tokens; there the loss is {least:.3f}, the target's own entropy.",
    )


def _rate(asked: Asked) -> Shown:
    settings = asked.translator.checkpoint.settings("schedule", "warmup_steps", "rate_factor")
    constant = settings is not None and settings.schedule == Schedule.CONSTANT
    own = None if constant else settings
    warmup, factor = (own.warmup_steps, own.rate_factor) if own else (_WARMUP, _FACTOR)
    curve = Noam(asked.translator.model.config.d_model, warmup, factor)
    rates = curve.rates(4 * warmup)
    whose = "its" if own else "the paper's"
    other = " It was itself trained with a constant rate after its warm-up." if constant else ""
    return Shown(
        rates_figure([curve], [rates], "linear"),
        "The rate over the steps, with its peak",
        f"The rate peaks at step {int(rates.argmax()) + 1:,} with {scientific(rates.max())}.",
        f"So it does with this checkpoint's d_model {curve.d_model}, {whose} warm-up {warmup:,} and factor "
        f"{factor:g}.{other}",
    )


def _shift(asked: Asked) -> Shown:
    fed, following = asked.trace.decoder_input_tokens, asked.trace.target_tokens
    return Shown(
        shifted_target(asked.trace),
        "What the decoder is fed in each row, and what it is to predict",
        f"Row 1 is fed {quoted(fed[0])} and is to predict {quoted(following[0])}.",
        f"Row {len(fed)}, the last, is fed {quoted(fed[-1])} and is to predict {quoted(following[-1])}. Each row "
        "is a task of its own.",
    )


def _passes(asked: Asked) -> Shown:
    measured = compare_parallel_and_cached(
        asked.translator.model, asked.trace.source_ids, asked.trace.decoder_input_ids
    )
    steps = len(asked.trace.decoder_input_ids)
    ratio = np.median(measured.cached) / np.median(measured.parallel)
    return Shown(
        passes_figure(measured),
        "Time of one pass over the target, and of as many steps as it has tokens",
        f"Step by step takes {ratio:.1f} times as long as one pass.",
        f"Measured just now: {1000 * np.median(measured.parallel):.1f} ms for one pass over "
        f"{pluralize(steps, 'token')}, {1000 * np.median(measured.cached):.1f} ms step by step with cached keys "
        f"and values. The largest difference of their logits is {format_error(measured.difference)}.",
    )


QUESTIONS = (
    Question(
        "d_model",
        "What is d_model, and why 512?",
        "d_model is the length of the one vector that stands for a token from the embedding to the logits; every "
        "sub-layer reads it and writes it back in the same length, so that they can be added. 512 was a choice: the "
        "paper's table 3 also has 256 and 1024, and the larger did better and cost more. With d_k = d_model / h, the "
        "usual choice, it must be a multiple of the number of heads, each of which projects the whole vector to d_k "
        "dimensions.",
        _widths,
        Link("pages/architecture.py", "See the blocks and their shapes"),
    ),
    Question(
        "heads",
        "Why several heads rather than one large one?",
        "A head's row sums to 1, so one head can only take one weighted average a token: looking at a verb and at its "
        "subject would blur both. Several heads take several averages side by side, at a similar cost, since each "
        "works on d_model / h dimensions. In the paper's table 3 (A) one head is 0.9 BLEU worse than eight, and 32 "
        "heads are 0.4 worse than eight; yet many heads can be removed after training at little loss (Michel et al. "
        "2019; Voita et al. 2019).",
        _heads,
        Link("pages/attention.py", "See every head of your sentence", {"kind": "cross"}),
    ),
    Question(
        "root",
        "Why divide by sqrt(d_k)?",
        "A dot product of two random vectors of d_k independent components with mean 0 and variance 1 has mean 0 and "
        "variance d_k (paper, footnote 4), so scores spread more the wider a head is. Softmax of widely spread scores "
        "gives nearly all to one key, and where a weight is nearly 0 or 1 its gradient is nearly 0; the paper suspects "
        "that this is why unscaled products do worse for large d_k (3.2.1). Divided by √d_k the scores of such vectors "
        "have variance 1, whatever the width.",
        _root,
        Link("pages/inside.py", "See it for a head of this model", {"inside": "why √d_k"}),
    ),
    Question(
        "weights",
        "Why does attention return its weights at all?",
        "Nothing that comes after needs them: the values' average is the result, and fused kernels never hold all "
        "weights at once (Dao et al. 2022). They are returned for people, who want to see where each query attends; "
        "how far that explains the output is disputed (Jain and Wallace 2019; Wiegreffe and Pinter 2019). Here they "
        "are recomputed by the same formula from the queries and keys that the kernel was given, and checked against "
        "its output.",
        _weights,
        Link("pages/inside.py", "See weights times values"),
    ),
    Question(
        "masks",
        "What are memory, source mask and target mask?",
        "The memory is the encoder's output, a vector a source token, which every decoder layer reads by "
        "cross-attention. The source mask hides the padding of the source, in the encoder and in cross-attention. The "
        "target mask hides padding too, and all later tokens, in the decoder's self-attention.",
        _masks,
        Link("pages/masks.py", "See the masks of a real batch"),
    ),
    Question(
        "infinity",
        "Why is the mask -1e9 in some code and -inf in other, and what can go wrong?",
        "Both make a masked key's weight 0 as long as one key of its row is unmasked: exp(−∞) is 0, and exp(−1e9) is "
        "too small for float32. A row with every key masked tells them apart: −∞ divides 0 by 0, and the NaN spreads "
        "through the whole training; −1e9 shares the row out evenly, silently reading what was masked. In float16, "
        "whose largest number is 65,504, −1e9 cannot even be written.",
        _infinity,
        Link("pages/inside.py", "Mask a row yourself", {"inside": "small example"}),
    ),
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
        "logit for each. Softmax makes probabilities of the logits. The paper gives it no bias, later models do; and "
        "often its matrix is the embedding's (paper, 3.4; Press and Wolf 2017).",
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
        "which the paper hypothesised would make attending by relative position easy to learn (3.5). Nothing in it is "
        "learned (with learned positions the paper's table 3 (E) has nearly the same results), so it is a buffer: it "
        "moves to the GPU with the model, and no optimiser touches it. It is a function of the shape, so it need not "
        "be in the checkpoint either.",
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
        "inverse square root of the step after it (equation 3). Offered since: Adam's estimates rest on few gradients "
        "at first and vary much (Liu et al. 2020, RAdam); in a post-norm model the gradients near the output are large "
        "at the start, and pre-norm models can do with little warm-up or none (Xiong et al. 2020); post-norm models "
        "lean heavily on their sub-layers' outputs, which amplifies every change of the weights, while unbalanced "
        "gradients are not the root cause (Liu et al. 2020, Admin).",
        _rate,
        Link("pages/training.py", "Draw the rate for other numbers", {"training": "learning-rate schedule"}),
    ),
    Question(
        "shift",
        "Why is the target shifted?",
        "Each row of the decoder is to predict the token after the one it was fed, so what it is fed begins with the "
        "begin of sentence and lacks the last token: the target, one place to the right. Without the shift a row would "
        "be fed the very token that it is to predict. The mask sees to it that it cannot find it in a later row "
        "either.",
        _shift,
        Link("pages/training.py", "See fed and predicted in a batch", {"training": "batches"}),
    ),
    Question(
        "parallel",
        "Why can training be parallel and decoding not?",
        "In training the whole target is known, so all its rows are computed in one pass, and the mask keeps each from "
        "reading the later ones. In decoding the token of the next step is not known before this step has ended. What "
        "was computed for earlier tokens does not change, though, so their keys and values are kept.",
        _passes,
        Link("pages/decoding.py", "Go through the steps"),
    ),
)
