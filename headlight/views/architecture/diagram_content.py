"""The diagram's content: what each kind of block is, in the paper's model and in others, and the boxes to be drawn."""

from dataclasses import dataclass, replace

import numpy as np

from headlight.plots.architecture import ACTIVATION_NAMES
from transformer.config import Activation, ModelConfig, Positions
from transformer.interpret.parameters import Block

from .content import share_words

_LOOKS = {"self_attention": "attention", "cross_attention": "attention", "add_and_norm": "norm"}
_ENDS_SUBLAYER = ("add", "add_and_norm")


@dataclass(frozen=True)
class BlockText:
    """A kind of block: its label in the diagram, title, formula in LaTeX, meaning, and place in the paper."""

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
        meaning="Each token has a row in a learned matrix, multiplied by √d_model so that positions do not outweigh "
        "it.",
        source="section 3.4",
    ),
    "positions": BlockText(
        label="+ positions",
        title="Positional encoding",
        formula=_POSITIONS,
        meaning="A fixed vector of sines and cosines per position. Without it the encoder could not tell the order "
        "of its tokens; the decoder could in part, by its causal mask (Haviv et al. 2022).",
        source="section 3.5",
    ),
    "self_attention": BlockText(
        label="Self-attention",
        title="Multi-head self-attention",
        formula=_ATTENTION,
        meaning="Every token attends to its own side's tokens, head by head; in the decoder later ones are masked.",
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
        meaning="The sub-layer's output is added to its input, which the residual connection carries past unchanged.",
        source="section 3.1; pre-norm: Xiong et al. 2020",
    ),
    "norm": BlockText(
        label="LayerNorm",
        title="LayerNorm",
        formula=r"\text{LayerNorm}(z) = \frac{z - \text{mean}(z)}{\sqrt{\text{var}(z) + \varepsilon}} \cdot \gamma + "
        r"\beta",
        meaning="Each vector is normalised to mean 0 and standard deviation 1, scaled by γ and shifted by β, one "
        "learned number per dimension.",
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
# What each activation does to a hidden unit.
ACTIVATIONS = {
    Activation.RELU: "keeps the positive ones",
    Activation.GELU: "multiplies each by the share of a standard normal distribution below it",
    Activation.SILU: "multiplies each by its sigmoid",
}
_GATES = {Activation.GELU: r"\Phi", Activation.SILU: r"\sigma"}
_OTHER_POSITIONS = {
    Positions.LEARNED: BlockText(
        label="+ positions",
        title="Learned positions",
        formula=r"x_{pos} + P_{pos}",
        meaning="A learned table for each side, a row per position; nothing is known of positions beyond it. The paper "
        "has sines and cosines, and found learned ones to do as well (table 3, row E).",
        source="Gehring et al. 2017; section 3.5",
    ),
    Positions.NONE: BlockText(
        label="+ positions",
        title="No positions",
        formula=r"x_{pos} + 0",
        meaning="This model adds nothing: its encoder cannot tell the order of its tokens; its decoder can in part, by "
        "its causal mask (Haviv et al. 2022).",
        source="compare section 3.5",
    ),
    Positions.MULTIPLIED: BlockText(
        label="+ positions",
        title="Positional encoding, multiplied",
        formula=_POSITIONS.replace("/ 10000", r"\cdot 10000"),
        meaning="The paper's sines and cosines with a slip: the position is multiplied by what should divide it, so "
        "most pairs turn by more than a full circle from one position to the next.",
        source="compare section 3.5",
    ),
}


def block_text(kind: str, config: ModelConfig) -> BlockText:
    """Return what a block of this kind is in a model of this configuration."""
    own = BLOCK_TEXTS[kind]
    if kind == "positions":
        return _OTHER_POSITIONS.get(config.positions) or _sinusoids(own, config)
    if kind == "feed_forward" and config.activation != Activation.RELU:
        name, gate = ACTIVATION_NAMES[config.activation], _GATES[config.activation]
        formula = (
            rf"\text{{FFN}}(x) = \text{{{name}}}(x W_1 + b_1)\, W_2 + b_2, \quad \text{{{name}}}(z) = z\, {gate}(z)"
        )
        source = "Hendrycks and Gimpel 2016; section 3.3, equation 2"
        return replace(own, formula=formula, meaning=f"{own.meaning} The paper has ReLU.", source=source)
    if kind == "embedding" and not config.scale_embeddings:
        meaning = "Each token has a row in a learned matrix, taken as it is; the paper multiplies by √d_model."
        return replace(own, formula=r"x = E_{\text{id}}", meaning=meaning)
    if kind == "embedding" and config.positions == Positions.NONE:
        return replace(own, meaning="Each token has a row in a learned matrix, multiplied by √d_model.")
    if kind == "output_projection" and config.output_bias:
        meaning = f"{own.meaning[:-1]}, plus a bias per token, which the paper does not have."
        return replace(own, formula=r"\text{logits} = x E^\top + b", meaning=meaning)
    return own


def _sinusoids(own: BlockText, config: ModelConfig) -> BlockText:
    """Return the paper's sinusoids, or those of another base or first position."""
    base, first = config.position_base, config.first_position
    if (base, first) == (ModelConfig.position_base, ModelConfig.first_position):
        return own
    formula = _POSITIONS.replace("pos / 10000", f"(pos + {first}) / {base:.1f}")
    more = f" Here the first token stands at position {first}, and the base is {base:,.1f}; the paper has 0 and 10,000."
    return replace(own, formula=formula, meaning=own.meaning + more)


def diagram_payload(blocks: list[Block], source: str, target: str) -> dict:
    """Return the boxes by stack and layer, ready for JSON; `source` and `target` name what goes in at the bottom."""
    total = sum(block.parameters for block in blocks)
    stacks = {
        name: _stack([block for block in blocks if block.stack == name], total) | {"input": given}
        for name, given in (("encoder", source), ("decoder", target))
    }
    output = [_box(block, total) for block in blocks if block.stack == "output"]
    return {**stacks, "output": output, "first": blocks[0].name}


def _stack(blocks: list[Block], total: int) -> dict:
    layers = sorted({block.layer for block in blocks if block.layer is not None})
    inside = [[block for block in blocks if block.layer == layer] for layer in layers]
    first = blocks.index(inside[0][0])
    before, after = blocks[:first], [block for block in blocks[first:] if block.layer is None]
    return {
        "before": [_box(block, total) for block in before],
        "layers": [_layer(layer, total) for layer in inside],
        "after": [_box(block, total) for block in after],
    }


def _layer(blocks: list[Block], total: int) -> list[dict]:
    """Return the boxes of a layer: where a residual connection begins, and where it is added."""
    boxes, begins = [], True
    for block in blocks:
        ends = block.kind in _ENDS_SUBLAYER
        boxes.append(_box(block, total) | {"begins": begins, "joins": ends})
        begins = ends
    return boxes


def _box(block: Block, total: int) -> dict:
    masked = block.kind == "self_attention" and block.stack == "decoder"
    label = BLOCK_TEXTS[block.kind].label
    return {
        "name": block.name,
        "stack": block.stack,
        "layer": block.layer,
        "kind": block.kind,
        "label": f"Masked {label.lower()}" if masked else label,
        "note": share_words(block, total),
        "parameters": block.parameters,
        "look": _LOOKS.get(block.kind, block.kind),
    }


def statistics(x: np.ndarray) -> np.ndarray:
    """Return mean, standard deviation and Euclidean norm of every token's vector: [3, tokens]."""
    x = np.asarray(x, dtype=np.float64)
    return np.stack([x.mean(axis=-1), x.std(axis=-1), np.linalg.norm(x, axis=-1)])
