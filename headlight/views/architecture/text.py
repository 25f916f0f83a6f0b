"""Sentences on the architecture, computed from one sentence's activations."""

from collections.abc import Sequence

import numpy as np

from headlight.plots.text import percent, quoted, signed
from transformer.config import ModelConfig, Norm, Positions
from transformer.experiments.initial_gradients import GradientNorms
from transformer.interpret.parameters import Block
from transformer.interpret.residual import Trajectory

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
    if config.positions == Positions.NONE:
        scaled = f"times √{config.d_model} it is {embedded:.2f}" if config.scale_embeddings else "it is not scaled"
        return f"The row is {row:.2f} long; {scaled}. This model adds no positions."
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
