"""The diagram's content: what each kind of block is, in the paper's model and in others, and the boxes to be drawn."""

from dataclasses import dataclass, replace

from headlight.plots.architecture import ACTIVATION_NAMES
from headlight.plots.numbers import percent
from transformer.config import Activation, FeedForwardType, ModelConfig, NormType, Positions
from transformer.interpret.parameters import OUTPUT, Block

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
_NORM_PLACES = "Post-norm: normalise after adding. Pre-norm: before."
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
        meaning=f"The sub-layer's output is added to its input, and the sum is normalised. {_NORM_PLACES}",
        source="section 3.1 and 5.4",
    ),
    "add": BlockText(
        label="Add",
        title="Residual (pre-norm)",
        formula=r"x + \text{Sublayer}(\text{LayerNorm}(x))",
        meaning="The sub-layer's output is added to its input, which the residual connection carries past unchanged. "
        f"{_NORM_PLACES}",
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
_GATES = {Activation.GELU: r"\Phi", Activation.GELU_NEW: r"\Phi", Activation.SILU: r"\sigma"}
_SHAZEER = "Shazeer 2020; compare section 3.3, equation 2"
_GATED = (
    "Two linear maps instead of one go to the hidden units: the first, through {name}, is a gate for each unit, the "
    "second is what the gate is multiplied with; a third map goes back. Each token alone, nothing moves between them."
)
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
    Positions.RELATIVE: BlockText(
        label="Relative bias",
        title="Relative bias",
        formula=r"\text{score}_{ij} + b_{\text{head},\; \text{bucket}(j - i)}",
        meaning="Nothing is added to the embeddings. To every score of self-attention each head adds a learned number "
        "that depends on how far the key is from the query alone; far distances share one, in buckets. One table for "
        "all layers of this stack; cross-attention has none. See “relative bias” on the page Positions.",
        source="Raffel et al. 2020, 2.1; compare section 3.5",
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
    text = BLOCK_TEXTS[kind]
    if kind == "positions":
        return _OTHER_POSITIONS.get(config.positions) or _sinusoids(text, config)
    if kind == "feed_forward":
        return _feed_forward(text, config)
    if kind in ("self_attention", "cross_attention"):
        return _attention(text, config)
    if kind == "embedding":
        return _embedding(text, config)
    if kind == "output_projection":
        return _output(text, config)
    return _rms_norm(kind, text) if config.norm_type == NormType.RMS else text


def _feed_forward(text: BlockText, config: ModelConfig) -> BlockText:
    name, gate = ACTIVATION_NAMES[config.activation], _GATES.get(config.activation)
    gated = config.feed_forward == FeedForwardType.GATED
    if gate is None and not gated:
        return text if config.bias else replace(text, formula=_without_biases(text.formula))
    first = rf"\text{{{name}}}(x W_1 + b_1)"
    inner = rf"({first} \odot (x V + c))" if gated else first
    formula = rf"\text{{FFN}}(x) = {inner}\, W_2 + b_2"
    formula = formula if config.bias else _without_biases(formula)
    if gate:
        formula += rf", \quad \text{{{name}}}(z) = z\, {gate}(z)"
    if gated:
        of_gate = _GATED.format(name=name)
        title = "Gated feed-forward"
        return BlockText(title, title, formula, f"{of_gate} The paper has one map and ReLU.", _SHAZEER)
    source = "Hendrycks and Gimpel 2016; section 3.3, equation 2"
    return replace(text, formula=formula, meaning=f"{text.meaning} The paper has ReLU.", source=source)


def _without_biases(formula: str) -> str:
    for name in ("b_1", "b_2", "c"):
        formula = formula.replace(f" + {name}", "")
    return formula.replace("(x V)", "x V")


def _attention(text: BlockText, config: ModelConfig) -> BlockText:
    """Return what attention is where scores are not divided, or have a bias by distance."""
    formula, meaning = text.formula, text.meaning
    biased = config.positions == Positions.RELATIVE and text is BLOCK_TEXTS["self_attention"]
    if not config.scale_scores:
        formula = formula.replace(r"\frac{Q_i K_i^\top}{\sqrt{d_k}}", r"Q_i K_i^\top")
        meaning += " The paper divides scores by √d_k, this model does not."
    if biased:
        formula = formula.replace(r"\right) V_i", r"+ B_i\right) V_i")
        meaning += " B is the bias by distance, in place of positions that are added to the embeddings."
    return replace(text, formula=formula, meaning=meaning)


def _embedding(text: BlockText, config: ModelConfig) -> BlockText:
    if not config.scale_embeddings:
        meaning = "Each token has a row in a learned matrix, taken as it is; the paper multiplies by √d_model."
        return replace(text, formula=r"x = E_{\text{id}}", meaning=meaning)
    if config.positions in (Positions.NONE, Positions.RELATIVE):
        return replace(text, meaning="Each token has a row in a learned matrix, multiplied by √d_model.")
    return text


def _output(text: BlockText, config: ModelConfig) -> BlockText:
    formula, meaning = text.formula, text.meaning
    if not config.ties_output:
        formula = formula.replace(r"E^\top", r"U^\top")
        meaning = f"{meaning[:-1]}, which is not the embedding's here."
    if config.scale_output:
        formula = formula.replace("= x", r"= \frac{x}{\sqrt{d_{\text{model}}}}")
        meaning = f"{meaning} What it is given is divided by √d_model first: the embeddings, whose matrix it has, are "
        meaning += "not multiplied by it in this model."
    if config.output_bias:
        formula, meaning = f"{formula} + b", f"{meaning[:-1]}, plus a bias per token, which the paper does not have."
    return replace(text, formula=formula, meaning=meaning)


def _rms_norm(kind: str, text: BlockText) -> BlockText:
    """Return what a block is in a model that has RMSNorm wherever the paper has LayerNorm."""
    formula = text.formula.replace("LayerNorm", "RMSNorm")
    title, label = (words.replace("LayerNorm", "RMSNorm") for words in (text.title, text.label))
    if kind != "norm":
        return replace(text, formula=formula, title=title, label=label)
    formula = r"\text{RMSNorm}(z) = \frac{z}{\sqrt{\text{mean}(z^2) + \varepsilon}} \cdot \gamma"
    meaning = (
        "Each vector is divided by its root mean square and scaled by γ, one learned number per dimension. LayerNorm, "
        "which the paper has, also subtracts the mean and adds a β."
    )
    return BlockText(label, title, formula, meaning, "Zhang and Sennrich 2019; before the sub-layer: Xiong et al. 2020")


def _sinusoids(text: BlockText, config: ModelConfig) -> BlockText:
    """Return the paper's sinusoids, or those of another base or first position."""
    base, first = config.position_base, config.first_position
    if (base, first) == (ModelConfig.position_base, ModelConfig.first_position):
        return text
    formula = _POSITIONS.replace("pos / 10000", f"(pos + {first}) / {base:.1f}")
    more = f" Here the first token stands at position {first}, and the base is {base:,.1f}; the paper has 0 and 10,000."
    return replace(text, formula=formula, meaning=text.meaning + more)


def diagram_payload(blocks: list[Block], config: ModelConfig, source: str, target: str) -> dict:
    """Return the boxes by stack and layer, ready for JSON; `source` and `target` name what goes in at the bottom."""
    total = sum(block.parameters for block in blocks)
    boxes = {block.name: _box(block, config, total) for block in blocks}
    stacks = {
        name: _stack([block for block in blocks if block.stack == name], boxes) | {"input": given}
        for name, given in (("encoder", source), ("decoder", target))
    }
    output = [boxes[block.name] for block in blocks if block.stack == "output"]
    return {**stacks, "output": output, "first": blocks[0].name}


def _stack(blocks: list[Block], boxes: dict[str, dict]) -> dict:
    layers = sorted({block.layer for block in blocks if block.layer is not None})
    inside = [[block for block in blocks if block.layer == layer] for layer in layers]
    first = blocks.index(inside[0][0])
    before, after = blocks[:first], [block for block in blocks[first:] if block.layer is None]
    return {
        "before": [boxes[block.name] for block in before],
        "layers": [_layer(layer, boxes) for layer in inside],
        "after": [boxes[block.name] for block in after],
    }


def _layer(blocks: list[Block], boxes: dict[str, dict]) -> list[dict]:
    """Return the boxes of a layer: where a residual connection begins, and where it is added."""
    shown, begins = [], True
    for block in blocks:
        ends = block.kind in _ENDS_SUBLAYER
        shown.append(boxes[block.name] | {"begins": begins, "joins": ends})
        begins = ends
    return shown


def _box(block: Block, config: ModelConfig, total: int) -> dict:
    masked = block.kind == "self_attention" and block.stack == "decoder"
    label = block_text(block.kind, config).label
    # What is added to scores does not lie on the way of the vectors.
    beside = {"beside": True} if block.kind == "positions" and config.positions == Positions.RELATIVE else {}
    return {
        "name": block.name,
        "stack": block.stack,
        "layer": block.layer,
        "kind": block.kind,
        "label": f"Masked {label.lower()}" if masked else label,
        "note": share_words(block, total),
        "parameters": block.parameters,
        "look": _LOOKS.get(block.kind, block.kind),
    } | beside


def sizes(*shape: int) -> str:
    """Return a shape as the page writes it: "6 x 256"."""
    return " x ".join(map(str, shape))


def sizes_words(block: Block, tokens: int, config: ModelConfig) -> str:
    """Return the shapes of a block's input and output for so many tokens, in words."""
    vectors, logits = sizes(tokens, config.d_model), sizes(tokens, config.output_size)
    before = {"embedding": f"{tokens} ids", "softmax": logits}.get(block.kind, vectors)
    return f"Here: {before} in, {logits if block.stack == OUTPUT else vectors} out (batch 1)."


def share_words(block: Block, total: int) -> str:
    """Say how many parameters a block has, and their share of all; "" for a block without any."""
    if block.shared_with:
        return f"shared with {block.shared_with.replace('_', ' ')}"
    return f"{block.parameters:,} · {percent(block.parameters / total)}" if block.parameters else ""
