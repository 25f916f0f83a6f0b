"""What each kind of block is: its formula, its meaning and its source, in the paper's model and in others."""

from dataclasses import dataclass, replace

from transformer.config import Activation, ModelConfig, Positions


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
_SCALED_ALONE = replace(
    BLOCK_TEXTS["embedding"], meaning="Each token has a row in a learned matrix, which is multiplied by √d_model."
)
_BIASED = replace(
    BLOCK_TEXTS["output_projection"],
    formula=r"\text{logits} = x E^\top + b",
    meaning="One dot product with each row of the vocabulary's matrix, plus a number for each token, which the paper "
    "does not have.",
)


_LEARNED_POSITIONS = BlockText(
    label="+ positions",
    title="Learned positions",
    formula=r"x_{pos} + P_{pos}",
    meaning="A row of a table that was learned, one for each position, and a table for each side. Nothing is known of "
    "positions beyond it. The paper has sines and cosines, and found learned ones to do as well (table 3, row E).",
    source="Gehring et al. 2017; section 3.5",
)
_NO_POSITIONS = BlockText(
    label="+ positions",
    title="No positions",
    formula=r"x_{pos} + 0",
    meaning="This model adds nothing: its encoder cannot tell the order of its tokens; its decoder can, in part, by "
    "its causal mask (Haviv et al. 2022).",
    source="compare section 3.5",
)
_MULTIPLIED_POSITIONS = BlockText(
    label="+ positions",
    title="Positional encoding, multiplied",
    formula=r"\begin{gathered} PE_{pos, 2i} = \sin(pos \cdot 10000^{2i / d}) \\ "
    r"PE_{pos, 2i+1} = \cos(pos \cdot 10000^{2i / d}) \end{gathered}",
    meaning="The paper's sines and cosines with a slip: the position is multiplied by what should divide it, so most "
    "pairs turn by more than a full circle from one position to the next.",
    source="compare section 3.5",
)
_OTHER_POSITIONS = {
    Positions.LEARNED: _LEARNED_POSITIONS,
    Positions.NONE: _NO_POSITIONS,
    Positions.MULTIPLIED: _MULTIPLIED_POSITIONS,
}


def _positions_text(config: ModelConfig) -> BlockText:
    """The paper's sinusoids, those of another base or beginning, a slip of them, a learned table, or nothing."""
    own = BLOCK_TEXTS["positions"]
    if config.positions in _OTHER_POSITIONS:
        return _OTHER_POSITIONS[config.positions]
    base, first = config.position_base, config.first_position
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
        if config.scale_embeddings and config.positions == Positions.NONE:
            return _SCALED_ALONE
        return own if config.scale_embeddings else _UNSCALED
    return _BIASED if kind == "output_projection" and config.output_bias else own
