"""Traces and translators that show themselves in a notebook: the engine's, with the attention explorer."""

import html
from collections.abc import Sequence
from pathlib import Path

import torch

import transformer
from transformer.model.names import AttentionKind

from .views.attention.explorer_content import explorer_page, select_heads

_HEIGHT = 860  # pixels: all heads and one large map beside each other


class Display:
    """A page that a notebook shows in the cell whose value this is; `page` is its HTML."""

    def __init__(self, page: str, height: int = _HEIGHT):
        self.page = page
        self.height = height

    def __repr__(self) -> str:
        return f"<a page of {len(self.page):,} characters; a notebook shows it>"

    def _repr_html_(self) -> str:
        """Return the page in a frame that can run its script and reach neither the notebook nor a network."""
        return (
            f'<iframe srcdoc="{html.escape(self.page)}" sandbox="allow-scripts allow-downloads" '
            f'style="width: 100%; height: {self.height}px; border: none" title="Attention explorer"></iframe>'
        )


class Trace(transformer.Trace):
    """A `transformer.Trace` that a notebook shows as the attention explorer."""

    def show(
        self,
        kind: AttentionKind | str | None = None,
        layer: int | None = None,
        heads: int | Sequence[int] | None = None,
    ) -> Display:
        """Return the explorer for a notebook, at some heads of a kind and layer, counted from 0; None for all.

        Without a kind it begins with the cross-attention head whose pattern is plainest. Raises ValueError for heads
        that the trace does not have or that come without a kind.
        """
        if kind is None and not (layer is None and heads is None):
            raise ValueError("a layer or heads are those of a kind: give the kind as well")
        selection = select_heads(self, kind, layer, heads) if kind else None
        return Display(explorer_page(self, selection=selection))

    def _repr_html_(self) -> str:
        return self.show()._repr_html_()


class Translator(transformer.Translator):
    """A `transformer.Translator` whose traces show themselves in a notebook."""

    trace_class = Trace


def load(
    checkpoint: str | Path, device: str | torch.device | None = None, dtype: str | torch.dtype | None = None
) -> Translator:
    """Load a checkpoint, a folder or the name of a shipped one ("en-de").

    dtype: what it computes in, "float32" (None), "float64", "bfloat16" or "float16". Raises CheckpointError,
    DeviceError, and ValueError for another type.
    """
    return Translator.load(checkpoint, device, dtype)
