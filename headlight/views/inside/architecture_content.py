"""The diagram's content: boxes, and the sizes and parameters of blocks in words."""

from headlight.plots.numbers import percent
from transformer.config import ModelConfig, Positions
from transformer.interpret.parameters import OUTPUT, Block

from .block_texts import block_text

_LOOKS = {"self_attention": "attention", "cross_attention": "attention", "add_and_norm": "norm"}
_ENDS_SUBLAYER = ("add", "add_and_norm")


def diagram_payload(blocks: list[Block], config: ModelConfig, source: str, target: str) -> dict:
    """Return the boxes by stack and layer, ready for JSON; `source` and `target` name the inputs."""
    total = sum(block.parameters for block in blocks)
    boxes = {block.name: _box(block, config, total) for block in blocks}
    stacks = {
        name: _stack([block for block in blocks if block.stack == name], boxes) | {"input": label}
        for name, label in (("encoder", source), ("decoder", target))
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
    """Return the number of parameters of a block and their share of all; "" for a block without any."""
    if block.shared_with:
        return f"shared with {block.shared_with.replace('_', ' ')}"
    return f"{block.parameters:,} · {percent(block.parameters / total)}" if block.parameters else ""
