"""Questions on attention, its masks and what it reads."""

import numpy as np

from headlight.app import results
from headlight.app.results import blocks
from headlight.plots.heatmap import attention_map_figure, mask_figure
from headlight.plots.text import counted, percent, quoted
from headlight.views.attention.explorer_content import describe_map, look_words
from headlight.views.inside.scaling_content import describe_random
from headlight.views.inside.scaling_figure import largest_figure
from transformer.experiments.dot_product_scaling import measure_random_products
from transformer.experiments.fully_masked_rows import fully_masked_row
from transformer.interpret.head_patterns import measure_heads, representative_heads
from transformer.interpret.parameters import WIDTHS, blocks_of, parameters_at
from transformer.interpret.trace import attention_map, masked_maps

from .figures import fully_masked_row_figure, overview_figure, share_of_parameters_figure
from .question import Asked, Link, Question, Shown


def _widths(asked: Asked) -> Shown:
    config = asked.translator.model.config
    counts = parameters_at(config, sorted({*WIDTHS, config.d_model}))
    own = counts[config.d_model]
    blocks = blocks_of(asked.translator.model, asked.stream)
    embedding = sum(block.parameters for block in blocks if block.kind == "embedding")
    return Shown(
        share_of_parameters_figure(counts, config.d_model),
        "Parameters of this model's shape at several widths",
        f"This checkpoint has d_model {config.d_model} and {own:,} parameters, {percent(embedding / own)} of them in "
        f"its embeddings. With 512 the same layers would have {counts[512]:,}.",
    )


def _heads(asked: Asked) -> Shown:
    maps = masked_maps(asked.trace, "cross")
    measured = measure_heads("cross", maps, asked.trace.source_tokens, asked.trace.next_tokens)
    roles = results.roles(asked.choice.checkpoint)
    return Shown(
        overview_figure(maps, asked.trace.next_tokens, asked.trace.source_tokens),
        f"Cross-attention of {maps.shape[0]} layers by {maps.shape[1]} heads",
        " ".join(look_words(head, roles) for head in representative_heads(measured)),
    )


def _root(asked: Asked) -> Shown:
    spread = measure_random_products(1)
    return Shown(
        largest_figure(spread, asked.translator.model.config.d_k),
        "The largest weight of a row of random vectors over d_k, with the division and without",
        describe_random(spread),
    )


def _weights(asked: Asked) -> Shown:
    chosen = attention_map(asked.trace, "cross", asked.trace.cross.shape[0] - 1, None, "predicted")
    return Shown(
        attention_map_figure(chosen), "Cross-attention of the last layer, averaged over its heads", describe_map(chosen)
    )


def _masks(asked: Asked) -> Shown:
    tokens = asked.trace.fed_tokens
    cells = np.tril(np.ones((len(tokens), len(tokens)), dtype=bool))
    return Shown(
        mask_figure(cells, tokens, {"it comes later": ~cells}),
        "The target mask of this sentence",
        f"The target mask of this sentence: {int((~cells).sum())} of {counted(cells.size, 'cell')} masked. Its source "
        f"mask, over {len(asked.trace.source_tokens)} source tokens, masks nothing, for a sentence alone has no "
        "padding.",
    )


def _infinity(asked: Asked) -> Shown:
    stages, *_ = blocks.stages(asked.choice, "encoder", 0)
    scores = stages.scores[0, 0, 0].tolist()
    result = fully_masked_row(scores)
    return Shown(
        fully_masked_row_figure(result, asked.trace.source_tokens),
        "Weights of a row without an unmasked key, by the three ways",
        f"The scores of {quoted(asked.trace.source_tokens[0])} in layer 1, head 1 of the encoder, with every key "
        f"masked: −1e9 gives each of {len(scores)} keys {result.with_large_number[0]:.4f}, the fused kernel "
        f"{result.fused[0]:.0f}, and −∞ gives no number at all.",
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
        "A head's row sums to 1, so one head can only take one weighted average a token: looking at a verb and at "
        "its subject would blur both. Several heads take several averages side by side, at a similar cost, since each "
        "works on d_model / h dimensions. The paper's table 3 (A) found one head 0.9 BLEU worse than eight, and 32 "
        "worse again; yet many heads can be removed after training at little loss (Michel et al. 2019; Voita et al. "
        "2019).",
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
        "The memory is the encoder's output, a vector a source token, which every decoder layer reads "
        "by cross-attention. The source mask hides the padding of the source, in the encoder and in "
        "cross-attention. The target mask hides padding too, and all later tokens, in the decoder's self-attention.",
        _masks,
        Link("pages/masks.py", "See the masks of a real batch"),
    ),
    Question(
        "infinity",
        "Why is the mask -1e9 in some code and -inf in other, and what can go wrong?",
        "Both make a masked key's weight 0 as long as one key of its row is unmasked: exp(−∞) is 0, and exp(−1e9) is "
        "too small for float32. A row with every key masked tells them apart: −∞ divides 0 by 0, and the NaN "
        "spreads through the whole training; −1e9 shares the row out evenly, silently reading what was masked. In "
        "float16, whose largest number is 65,504, −1e9 cannot even be written.",
        _infinity,
        Link("pages/inside.py", "Mask a row yourself", {"inside": "small example"}),
    ),
)
