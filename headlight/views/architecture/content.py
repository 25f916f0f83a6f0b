"""Sentences on the architecture, computed from one sentence's activations."""

from collections.abc import Sequence

import numpy as np

from headlight.plots.architecture import sublayer_names
from headlight.plots.text import percent, quoted, sentence_case, signed
from transformer.config import ModelConfig, Norm, Positions
from transformer.experiments.training import GradientNorms
from transformer.interpret.parameters import Block
from transformer.interpret.residual import Trajectory

# Both claims are measured in tests/laws/test_initial_gradients.py.
_WHY_POST_NORM = (
    " The post-norm decoder's excess comes from cross-attention: with its output set to 0 the ratio falls to about the "
    "encoder's. That output widens the sum before LayerNorm, which divides by the wider deviation in every layer, and "
    "with the vector the residual connection's gradient; what cross-attention passes back to the encoder is not the "
    "reason."
)


def share_words(block: Block, total: int) -> str:
    """Say how many parameters a block has, and their share of all; "" for a block without any."""
    if block.shared_with:
        return f"shared with {block.shared_with.replace('_', ' ')}"
    return f"{block.parameters:,} · {percent(block.parameters / total)}" if block.parameters else ""


def describe_trajectory(trajectory: Trajectory, token: str) -> str:
    """Say which sub-layers change the vector most, and how similar to its embedding it ends."""
    names = sublayer_names(trajectory)
    inside = [index for index, (_, layer) in enumerate(trajectory.points) if layer is not None]
    turned = inside[int(np.argmin(trajectory.turns[inside]))]
    added = inside[int(np.argmax(trajectory.changes[inside]))]
    cosine, last = signed(trajectory.turns[turned], 2), float(trajectory.similarities[-1])
    return (
        f"{sentence_case(names[turned])} turns {quoted(token)} most (cosine {cosine} with the vector before); "
        f"{names[added]} adds the largest norm ({trajectory.changes[added]:.1f}, to "
        f"{trajectory.norms[added - 1]:.1f}). The last vector's cosine with the embedding is {signed(last, 2)}: "
        f"{percent(last**2)} of its squared norm lies along the embedding's direction."
    )


def describe_units(units: np.ndarray, token: int, tokens: Sequence[str], activation: str = "ReLU") -> str:
    """Say how many hidden units [tokens, d_ff] are above 0 for a token, for every token, and for none.

    ReLU sets all others to 0; GELU and SiLU let small negative values through.
    """
    active = units > 0
    silent = "0" if activation == "ReLU" else f"not above 0 (lowest {signed(float(units[token].min()), 2)})"
    always = np.flatnonzero(active.all(axis=0))
    listed = ", ".join(str(unit + 1) for unit in always[:5]) + (", …" if len(always) > 5 else "")
    return (
        f"For {quoted(tokens[token])} {percent(1 - active[token].mean())} of the {units.shape[1]:,} units are {silent} "
        f"after {activation}: active are {int(active[token].sum()):,}. Active for every token: "
        f"{len(always):,}{f' (units {listed})' if listed else ''}; for none: {int((~active.any(axis=0)).sum()):,}; not "
        f"active, on average over the sentence: {percent(1 - active.mean())}."
    )


def describe_embedding(row: float, embedded: float, position: float, config: ModelConfig) -> str:
    """Say how long a token's row is, what the model makes of it, and the position's vector."""
    scaled = f"times √{config.d_model} it is {embedded:.2f}" if config.scale_embeddings else "it is not scaled"
    text = f"The row is {row:.2f} long; {scaled}."
    if config.positions == Positions.NONE:
        return f"{text} This model adds no positions."
    times = position / max(1e-9, row)
    return f"{text} The position's vector is {position:.2f} long, {times:.1f} times as long as the row."


def describe_gradients(measured: Sequence[GradientNorms]) -> str:
    """Say by how much the last layer's gradient exceeds the first one's, in either stack, for each norm."""

    def ratios(stack: str) -> str:
        norms = [(each.norm, getattr(each, stack)) for each in measured]
        return f"{stack} {' and '.join(f'{norm[-1] / norm[0]:.1f} ({name}-norm)' for name, norm in norms)}"

    exceeds = any(
        each.norm == Norm.POST and each.decoder[-1] / each.decoder[0] > each.encoder[-1] / each.encoder[0]
        for each in measured
    )
    return (
        f"The last layer's gradient over the first one's: {ratios('decoder')}; "
        f"{ratios('encoder')}.{_WHY_POST_NORM if exceeds else ''} Xiong et al. 2020 trace post-norm's need of a "
        "warm-up to large gradients near the output; Liu et al. 2020 (Admin, arXiv 2004.08249) find that unbalanced "
        "gradients are not the root cause. Adam divides by a running mean of the gradient's size, so a small gradient "
        "alone makes no small step."
    )
