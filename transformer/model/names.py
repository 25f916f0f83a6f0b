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
        """Where its queries are."""
        return Stack.ENCODER if self is AttentionKind.ENCODER else Stack.DECODER

    @property
    def sublayer(self) -> SubLayerKind:
        """Which sub-layer of a layer it is."""
        return SubLayerKind.CROSS_ATTENTION if self is AttentionKind.CROSS else SubLayerKind.SELF_ATTENTION

    def block_name(self, layer: int | str) -> str:
        """Return the module of this kind in a layer, counted from 0, or "*" for all: "decoder.2.cross_attention"."""
        return f"{self.stack}.{layer}.{self.sublayer}"
