"""The model's blocks as the plain values that the diagram draws, and each block in words and formulas."""

from dataclasses import dataclass

import numpy as np

from plots.text import percent
from transformer.interpret.parameters import Block


@dataclass(frozen=True)
class Told:
    """What is said of a kind of block: label in the diagram, heading, formula in LaTeX, meaning, place in the paper."""

    label: str
    title: str
    formula: str
    meaning: str
    source: str


_ATTENTION = (
    r"\begin{gathered} \text{head}_i = \text{softmax}\!\left(\frac{Q_i K_i^\top}{\sqrt{d_k}}\right) V_i \\ "
    r"\text{MultiHead}(Q, K, V) = [\text{head}_1; \ldots; \text{head}_h]\, W_O \end{gathered}"
)
_NORM = r"\text{LayerNorm}(z) = \frac{z - \text{mean}(z)}{\sqrt{\text{var}(z) + \varepsilon}} \cdot \gamma + \beta"
TOLD = {
    "embedding": Told(
        "Embedding", "Token embedding", r"x = \sqrt{d_{\text{model}}}\; E_{\text{id}}",
        "Each piece has a row in a learned matrix; times √d_model, so that it is not drowned by the position.",
        "section 3.4",
    ),
    "positions": Told(
        "+ positions", "Positional encoding",
        r"\begin{gathered} PE_{pos, 2i} = \sin(pos / 10000^{2i / d}) \\ "
        r"PE_{pos, 2i+1} = \cos(pos / 10000^{2i / d}) \end{gathered}",
        "A fixed vector of sines and cosines for each place: without it the layers could not tell the order.",
        "section 3.5",
    ),
    "self_attention": Told(
        "Self-attention", "Multi-head self-attention", _ATTENTION,
        "Every token reads the others of its own side, head by head. In the decoder later tokens are masked.",
        "section 3.2, equation 1",
    ),
    "cross_attention": Told(
        "Cross-attention", "Multi-head cross-attention", _ATTENTION,
        "The decoder's tokens ask, the encoder's memory answers: queries from here, keys and values from there.",
        "section 3.2.3",
    ),
    "feed_forward": Told(
        "Feed-forward", "Position-wise feed-forward", r"\text{FFN}(x) = \max(0, x W_1 + b_1)\, W_2 + b_2",
        "The same two layers for each token alone; nothing moves between tokens.",
        "section 3.3, equation 2",
    ),
    "add_and_norm": Told(
        "Add & Norm", "Residual and LayerNorm (post-norm)", r"\text{LayerNorm}(x + \text{Sublayer}(x))",
        "What the sub-layer made is added to what came in, and the sum is normalised.",
        "section 3.1 and 5.4",
    ),
    "add": Told(
        "Add", "Residual (pre-norm)", r"x + \text{Sublayer}(\text{LayerNorm}(x))",
        "What the sub-layer made is added to what came in, which goes past it untouched.",
        "section 3.1; pre-norm: Xiong et al. 2020",
    ),
    "norm": Told(
        "LayerNorm", "LayerNorm", _NORM,
        "Each vector alone is brought to mean 0 and spread 1, then stretched and moved, a learned number each.",
        "Ba et al. 2016; before the sub-layer: Xiong et al. 2020",
    ),
    "output_projection": Told(
        "Linear", "Generator: the output projection", r"\text{logits} = x E^\top",
        "One dot product with each row of the vocabulary's matrix.", "section 3.4",
    ),
    "softmax": Told(
        "Softmax", "Softmax", r"p_k = \frac{e^{z_k}}{\sum_n e^{z_n}}",
        "Logits become probabilities of the next token.", "section 3.4",
    ),
}  # fmt: skip
_LOOKS = {"self_attention": "attention", "cross_attention": "attention", "add_and_norm": "norm"}
_ENDS_SUBLAYER = ("add", "add_and_norm")


def diagram_payload(blocks: list[Block], source: str, target: str) -> dict:
    """Boxes by stack and layer, ready for JSON; `source` and `target` name what goes in at the bottom."""
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
    """The boxes of a layer; where a way around a sub-layer begins, and where it comes back."""
    boxes, begins = [], True
    for block in blocks:
        boxes.append(_box(block, total) | {"begins": begins, "joins": block.kind in _ENDS_SUBLAYER})
        begins = block.kind in _ENDS_SUBLAYER
    return boxes


def _box(block: Block, total: int) -> dict:
    masked = block.kind == "self_attention" and block.stack == "decoder"
    label = TOLD[block.kind].label
    note = share_words(block, total)
    return {
        "name": block.name, "stack": block.stack, "layer": block.layer, "kind": block.kind,
        "label": f"Masked {label.lower()}" if masked else label, "note": note,
        "look": _LOOKS.get(block.kind, block.kind),
    }  # fmt: skip


def share_words(block: Block, total: int) -> str:
    """How many parameters a block has, and their share of all; "" for a block without any."""
    if block.shared_with:
        return f"shared with {block.shared_with.replace('_', ' ')}"
    if not block.parameters:
        return ""
    return f"{block.parameters:,} · {percent(block.parameters / total)}"


def statistics(x: np.ndarray) -> np.ndarray:
    """Mean, standard deviation and Euclidean norm of every token's vector: [3, tokens]."""
    x = np.asarray(x, dtype=np.float64)
    return np.stack([x.mean(axis=-1), x.std(axis=-1), np.linalg.norm(x, axis=-1)])
