"""The model's blocks as the plain values that the diagram draws."""

import numpy as np

from transformer.interpret.parameters import Block

from .block_text import BLOCK_TEXTS
from .text import share_words

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
    """The boxes of a layer; where a residual connection begins, and where it is added."""
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
    """Mean, standard deviation and Euclidean norm of every token's vector: [3, tokens]."""
    x = np.asarray(x, dtype=np.float64)
    return np.stack([x.mean(axis=-1), x.std(axis=-1), np.linalg.norm(x, axis=-1)])
