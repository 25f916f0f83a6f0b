"""Names of heads, kinds of attention and norms, in figures and sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headlight.language import texts_beside
from transformer.config import ModelConfig, NormType
from transformer.model.heads import Head

if TYPE_CHECKING:  # it reads PyTorch, which texts do without
    from transformer.interpret.score_parts import StreamPart

KINDS = ("encoder", "decoder", "cross")  # in the order of every page
AVERAGE = "average"  # over all layers or heads, in place of the number of one
_text = texts_beside(__file__)


def head_name(layer: int | None, head: int | None, layers: int, heads: int) -> str:
    """Return a head counted from 1, or the range of an average: "average over the 8 heads of layer 2"."""
    if layer is not None and head is not None:
        return one_head_name(layer, head)
    counts = {"layers": _text("layers", count=layers), "heads": _text("heads", count=heads)}
    if layer is not None:
        return _text("average_of_layer", layer=layer + 1, **counts)
    if head is not None:
        return _text("average_of_head", head=head + 1, **counts)
    return _text("average", **counts)


def one_head_name(layer: int, head: int) -> str:
    """Return a head counted from 1: "layer 3, head 4"."""
    return _text("head", layer=layer + 1, head=head + 1)


def kind_name(kind: str) -> str:
    """Return a kind of attention: "Cross-attention"."""
    return sentence_case(kind_words(kind))


def kind_words(kind: str) -> str:
    """Return a kind of attention for use within a sentence: "cross-attention"."""
    return _text(kind)


def kind_head_name(head: Head) -> str:
    """Return one head with its kind of attention, for use within a sentence: "cross-attention layer 3, head 4"."""
    return _text("kind_head", kind=kind_words(head.kind), head=one_head_name(*head.index))


def part_name(part: StreamPart) -> str:
    """Return a part of a residual stream, counted from 1: "cross head 2.4", "self-attention 2", "feed-forward 2"."""
    if part.layer is None:
        return kind_words(part.kind)
    if part.head is not None:
        return _text(f"{part.kind}_head", layer=part.layer + 1, head=part.head + 1)
    group = {"encoder": "self_attention", "decoder": "self_attention", "cross": "cross_attention"}
    return _text(group.get(part.kind, "feed_forward"), layer=part.layer + 1)


def norm_name(config: ModelConfig) -> str:
    """Return the name of a model's norms."""
    return "RMSNorm" if config.norm_type == NormType.RMS else "LayerNorm"


def sentence_case(text: str) -> str:
    """Return the text with a capital first letter."""
    return text[:1].upper() + text[1:]
