"""The names of the model's parts, each closed set once. A member equals its text, so JSON and URLs hold it as it is."""

import re
from enum import StrEnum


class Name(StrEnum):
    """One of a closed set of names; asked for another, it raises ValueError naming the valid ones."""

    @classmethod
    def _missing_(cls, value: object) -> None:
        words = re.sub("(?<!^)([A-Z])", r" \1", cls.__name__).lower()
        raise ValueError(f"{words} must be one of {', '.join(cls)}, got {value!r}")


class Stack(Name):
    """The two sides of the model (paper, figure 1)."""

    ENCODER = "encoder"
    DECODER = "decoder"


class SubLayerKind(Name):
    """The sub-layers of a layer in the order of computation (paper, 3.1); an encoder layer has no cross-attention."""

    SELF_ATTENTION = "self_attention"
    CROSS_ATTENTION = "cross_attention"
    FEED_FORWARD = "feed_forward"


class AttentionKind(Name):
    """The three uses of attention (paper, 3.2.3): who asks, and what is read."""

    ENCODER = "encoder"
    DECODER = "decoder"
    CROSS = "cross"

    @property
    def stack(self) -> Stack:
        """The stack that computes the queries."""
        return Stack.ENCODER if self is AttentionKind.ENCODER else Stack.DECODER

    @property
    def key_stack(self) -> Stack:
        """Return the stack that computes the keys."""
        return Stack.DECODER if self is AttentionKind.DECODER else Stack.ENCODER

    @property
    def sublayer(self) -> SubLayerKind:
        """The sub-layer of a layer."""
        return SubLayerKind.CROSS_ATTENTION if self is AttentionKind.CROSS else SubLayerKind.SELF_ATTENTION

    def block_name(self, layer: int | str) -> str:
        """Return the module of this kind in a layer, counted from 0, or "*" for all: "decoder.2.cross_attention"."""
        return f"{self.stack}.{layer}.{self.sublayer}"


class Part(Name):
    """Part of a model that can be changed in a run: the heads of a kind of attention, named like the kind; the output
    of an attention, all heads together; the hidden units of a feed-forward; and the residual stream.
    """

    ENCODER = "encoder"
    DECODER = "decoder"
    CROSS = "cross"
    ENCODER_ATTENTION = "encoder.attention"
    DECODER_ATTENTION = "decoder.attention"
    CROSS_ATTENTION = "cross.attention"
    ENCODER_FEED_FORWARD = "encoder.feed_forward"
    DECODER_FEED_FORWARD = "decoder.feed_forward"
    ENCODER_STREAM = "encoder.stream"
    DECODER_STREAM = "decoder.stream"

    @property
    def stack(self) -> Stack:
        """Return the side of the model whose positions its rows are."""
        return Stack.ENCODER if self.startswith(Stack.ENCODER) else Stack.DECODER

    @property
    def is_heads(self) -> bool:
        """Return True for heads, whose vectors are [batch, heads, rows, d_k]; the others' are [batch, rows, width]."""
        return self in HEADS

    @property
    def is_stream(self) -> bool:
        """Return True for a residual stream, which has a layer more: 0 is before the first layer, 1 after it."""
        return self.endswith(".stream")

    def module(self, layer: int) -> str:
        """Return the module whose output it is, in a decoding step as in a pass over all rows; layers from 0."""
        if self.is_stream:
            return f"{self.stack}.{layer - 1}.feed_forward_residual" if layer else f"{self.stack}_input"
        if self in UNITS:
            return f"{self.stack}.{layer}.feed_forward.activate"
        block = AttentionKind(self.partition(".")[0]).block_name(layer)
        return f"{block}.core" if self.is_heads else f"{block}.output"


HEADS = (Part.ENCODER, Part.DECODER, Part.CROSS)
UNITS = (Part.ENCODER_FEED_FORWARD, Part.DECODER_FEED_FORWARD)
