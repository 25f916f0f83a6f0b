"""Texts on the architecture: what each block does, and sentences computed from one sentence's activations."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from plots.text import percent, quoted, signed
from transformer.config import Activation, ModelConfig, Norm, Positions
from transformer.experiments.initial_gradients import GradientNorms
from transformer.interpret.parameters import Block
from transformer.interpret.residual import Trajectory


@dataclass(frozen=True)
class BlockText:
    """A kind of block: label in the diagram, heading, formula in LaTeX, meaning, place in the paper."""

    label: str
    title: str
    formula: str
    meaning: str
    source: str


_ATTENTION = (
    r"\begin{gathered} \text{head}_i = \text{softmax}\!\left(\frac{Q_i K_i^\top}{\sqrt{d_k}}\right) V_i \\ "
    r"\text{MultiHead}(Q, K, V) = [\text{head}_1; \ldots; \text{head}_h]\, W_O \end{gathered}"
)
_POSITIONS = (
    r"\begin{gathered} PE_{pos, 2i} = \sin(pos / 10000^{2i / d}) \\ "
    r"PE_{pos, 2i+1} = \cos(pos / 10000^{2i / d}) \end{gathered}"
)
BLOCK_TEXTS = {
    "embedding": BlockText(
        label="Embedding",
        title="Token embedding",
        formula=r"x = \sqrt{d_{\text{model}}}\; E_{\text{id}}",
        meaning="Each token has a row in a learned matrix, multiplied by √d_model so that the positional encoding does "
        "not outweigh it.",
        source="section 3.4",
    ),
    "positions": BlockText(
        label="+ positions",
        title="Positional encoding",
        formula=_POSITIONS,
        meaning="A fixed vector of sines and cosines for each position. Without it the encoder could not tell the "
        "order of its tokens; the decoder could, in part, by its causal mask (Haviv et al. 2022).",
        source="section 3.5",
    ),
    "self_attention": BlockText(
        label="Self-attention",
        title="Multi-head self-attention",
        formula=_ATTENTION,
        meaning="Every token attends to the tokens of its own side, head by head. In the decoder later tokens are "
        "masked.",
        source="section 3.2, equation 1",
    ),
    "cross_attention": BlockText(
        label="Cross-attention",
        title="Multi-head cross-attention",
        formula=_ATTENTION,
        meaning="Queries come from the decoder's tokens, keys and values from the encoder's output, the memory.",
        source="section 3.2.3",
    ),
    "feed_forward": BlockText(
        label="Feed-forward",
        title="Position-wise feed-forward",
        formula=r"\text{FFN}(x) = \max(0, x W_1 + b_1)\, W_2 + b_2",
        meaning="The same two linear layers for each token alone; nothing moves between tokens.",
        source="section 3.3, equation 2",
    ),
    "add_and_norm": BlockText(
        label="Add & Norm",
        title="Residual and LayerNorm (post-norm)",
        formula=r"\text{LayerNorm}(x + \text{Sublayer}(x))",
        meaning="The sub-layer's output is added to its input, and the sum is normalised.",
        source="section 3.1 and 5.4",
    ),
    "add": BlockText(
        label="Add",
        title="Residual (pre-norm)",
        formula=r"x + \text{Sublayer}(\text{LayerNorm}(x))",
        meaning="The sub-layer's output is added to the block's input, which the residual connection carries past it "
        "unchanged.",
        source="section 3.1; pre-norm: Xiong et al. 2020",
    ),
    "norm": BlockText(
        label="LayerNorm",
        title="LayerNorm",
        formula=r"\text{LayerNorm}(z) = \frac{z - \text{mean}(z)}{\sqrt{\text{var}(z) + \varepsilon}} \cdot \gamma + "
        r"\beta",
        meaning="Each vector alone is normalised to mean 0 and standard deviation 1, then scaled by γ and shifted by "
        "β, one learned number a dimension.",
        source="Ba et al. 2016; before the sub-layer: Xiong et al. 2020; after the embedding: Lewis et al. 2020",
    ),
    "output_projection": BlockText(
        label="Linear",
        title="Output projection (unembedding)",
        formula=r"\text{logits} = x E^\top",
        meaning="One dot product with each row of the vocabulary's matrix.",
        source="section 3.4",
    ),
    "softmax": BlockText(
        label="Softmax",
        title="Softmax",
        formula=r"p_k = \frac{e^{z_k}}{\sum_n e^{z_n}}",
        meaning="Logits become probabilities of the next token.",
        source="section 3.4",
    ),
}
# The name of each activation, and what it does to a hidden unit.
ACTIVATIONS = {
    Activation.RELU: ("ReLU", "keeps the positive ones"),
    Activation.GELU: ("GELU", "multiplies each by the share of a standard normal distribution below it"),
    Activation.SILU: ("SiLU", "multiplies each by its sigmoid"),
}
_FEED_FORWARDS = {
    activation: replace(
        BLOCK_TEXTS["feed_forward"],
        formula=rf"\text{{FFN}}(x) = \text{{{name}}}(x W_1 + b_1)\, W_2 + b_2, "
        rf"\quad \text{{{name}}}(z) = z\, {factor}(z)",
        meaning=f"{BLOCK_TEXTS['feed_forward'].meaning} The paper has ReLU.",
        source="Hendrycks and Gimpel 2016; section 3.3, equation 2",
    )
    for activation, name, factor in ((Activation.GELU, "GELU", r"\Phi"), (Activation.SILU, "SiLU", r"\sigma"))
}
_UNSCALED = replace(
    BLOCK_TEXTS["embedding"],
    formula=r"x = E_{\text{id}}",
    meaning="Each token has a row in a learned matrix. This model takes it as it is; the paper multiplies by √d_model.",
)
_BIASED = replace(
    BLOCK_TEXTS["output_projection"],
    formula=r"\text{logits} = x E^\top + b",
    meaning="One dot product with each row of the vocabulary's matrix, plus a number for each token, which the paper "
    "does not have.",
)


_LEARNED = BlockText(
    label="+ positions",
    title="Learned positions",
    formula=r"x_{pos} + P_{pos}",
    meaning="A row of a table that was learned, one for each position, and a table for each side. Nothing is known of "
    "positions beyond it. The paper has sines and cosines, and found learned ones to do as well (table 3, row E).",
    source="Gehring et al. 2017; section 3.5",
)


def _positions_text(config: ModelConfig) -> BlockText:
    """The paper's sinusoids, those of another base or beginning, or a learned table."""
    own = BLOCK_TEXTS["positions"]
    base, first = config.position_base, config.first_position
    if config.positions == Positions.LEARNED:
        return _LEARNED
    if (base, first) == (ModelConfig.position_base, ModelConfig.first_position):
        return own
    angle = rf"(pos + {first}) / {base:.1f}^{{2i / d}}"
    formula = rf"\begin{{gathered}} PE_{{pos, 2i}} = \sin({angle}) \\ PE_{{pos, 2i+1}} = \cos({angle}) \end{{gathered}}"
    more = f" Here the first token stands at position {first}, and the base is {base:,.1f}; the paper has 0 and 10,000."
    return replace(own, formula=formula, meaning=own.meaning + more)


def block_text(kind: str, config: ModelConfig) -> BlockText:
    """What a block of this kind is in a model of this configuration."""
    own = BLOCK_TEXTS[kind]
    if kind == "positions":
        return _positions_text(config)
    if kind == "feed_forward":
        return _FEED_FORWARDS.get(config.activation, own)
    if kind == "embedding":
        return own if config.scale_embeddings else _UNSCALED
    return _BIASED if kind == "output_projection" and config.output_bias else own


_SUBLAYERS = {
    "embedding": "embedding",
    "positions": "+ position",
    "embedding_norm": "first LayerNorm",
    "self_attention": "self-attention",
    "cross_attention": "cross-attention",
    "feed_forward": "feed-forward",
    "norm": "last LayerNorm",
}
# Both claims are measured in tests/laws/test_initial_gradients.py.
_WHY_POST_NORM = (
    " With post-norm the decoder's excess comes from cross-attention: with its output set to 0 the ratio comes down to "
    "about the encoder's. What cross-attention passes back to the encoder is not the reason, for the ratio stays if "
    "that is cut off: its output widens the sum before LayerNorm, which divides the vector, and so the residual "
    "connection's gradient, by the wider deviation in every layer."
)


def share_words(block: Block, total: int) -> str:
    """How many parameters a block has, and their share of all; "" for a block without any."""
    if block.shared_with:
        return f"shared with {block.shared_with.replace('_', ' ')}"
    if not block.parameters:
        return ""
    return f"{block.parameters:,} · {percent(block.parameters / total)}"


def sublayer_names(trajectory: Trajectory) -> list[str]:
    """What wrote each vector of a trajectory: "layer 2 feed-forward"."""
    return [
        _SUBLAYERS[kind] if layer is None else f"layer {layer + 1} {_SUBLAYERS[kind]}"
        for kind, layer in trajectory.points
    ]


def describe_trajectory(trajectory: Trajectory, token: str) -> str:
    """Which sub-layers change the vector most, and how similar to its embedding it ends."""
    names = sublayer_names(trajectory)
    inside = [place for place, (_, layer) in enumerate(trajectory.points) if layer is not None]
    turned = inside[int(np.argmin(trajectory.turns[inside]))]
    added = inside[int(np.argmax(trajectory.changes[inside]))]
    last = float(trajectory.similarities[-1])
    adding = "it also" if added == turned else names[added]
    return (
        f"Of all sub-layers {names[turned]} changes the direction of {quoted(token)} most (cosine "
        f"{signed(trajectory.turns[turned], 2)} with the vector before it), and {adding} adds the largest norm "
        f"({trajectory.changes[added]:.1f}, to a vector of norm {trajectory.norms[added - 1]:.1f}). The last vector's "
        f"cosine with the embedding is {signed(last, 2)}: {percent(last**2)} of its squared norm lies along the "
        "embedding's direction."
    )


def describe_units(units: np.ndarray, token: int, tokens: Sequence[str], activation: str = "ReLU") -> str:
    """How many hidden units are active for a token, how many for none, and which for every token: [tokens, d_ff].

    Active is a unit above 0; the activations that came after ReLU let small negative values through.
    """
    active = units > 0
    d_ff = units.shape[1]
    always, never = np.flatnonzero(active.all(axis=0)), int((~active.any(axis=0)).sum())
    count, of_it = int(active[token].sum()), quoted(tokens[token])
    silent, states = "0", "stays active" if count == 1 else "stay active"
    text = f"ReLU sets {percent(1 - active[token].mean())} of the {d_ff:,} units to 0 for {of_it}: {count:,} {states}."
    if activation != "ReLU":
        silent = "not above 0"
        text = (
            f"{activation} leaves {count:,} of the {d_ff:,} units above 0, which is to be active, for {of_it}; what is "
            f"below 0 is not set to 0 but comes near it, here to {signed(float(units[token].min()), 2)} at the least."
        )
    if len(units) == 1:
        return f"{text} It is the only token of the sentence."
    listed = ", ".join(str(unit + 1) for unit in always[:5]) + (", …" if len(always) > 5 else "")
    everywhere = f"{len(always):,} {'is' if len(always) == 1 else 'are'} active for every token ({listed})"
    return (
        f"{text} Over the whole sentence {percent(1 - active.mean())} are {silent} on average; "
        f"{everywhere if len(always) else 'none is active for every token'}, and {never:,} for none."
    )


def sum_words(config: ModelConfig) -> tuple[str, str]:
    """What a model multiplies a token's row by, and what the sum with the position's vector enters."""
    factor = "√d_model" if config.scale_embeddings else "1: not scaled"
    return factor, "a LayerNorm" if config.embedding_norm else "the stack"


def describe_embedding(row: float, embedded: float, position: float, config: ModelConfig) -> str:
    """The norms of a token's row, of what the model makes of it, and of the position's vector."""
    times = max(1e-9, row)
    if not config.scale_embeddings:
        return (
            f"The row is {row:.2f} long, and is not scaled in this model. The position's vector is {position:.2f} "
            f"long, {position / times:.1f} times as long."
        )
    return (
        f"The row is {row:.2f} long; times √{config.d_model} it is {embedded:.2f}. The position's vector is "
        f"{position:.2f} long: without the factor it would be {position / times:.1f} times as long as the word's own."
    )


def describe_gradients(measured: Sequence[GradientNorms]) -> str:
    """By how much the gradient of the last layer exceeds the first one's, in either stack, for each norm."""

    def ratios(stack: str) -> str:
        norms = [(each.norm, getattr(each, stack)) for each in measured]
        return f"{stack} {' and '.join(f'{norm[-1] / norm[0]:.1f} ({name}-norm)' for name, norm in norms)}"

    excess = ""
    for each in measured:
        if each.norm == Norm.POST and each.decoder[-1] / each.decoder[0] > each.encoder[-1] / each.encoder[0]:
            excess = _WHY_POST_NORM
    return (
        f"The last layer's gradient over the first one's: {ratios('decoder')}; {ratios('encoder')}.{excess} Xiong et "
        "al. 2020 trace the warm-up that post-norm models need to large gradients near the output; Liu et al. 2020 "
        "(Admin, arXiv 2004.08249) find that unbalanced gradients are not the root cause. Adam divides each gradient "
        "by a running mean of its size, so a small gradient alone does not make a small step."
    )
