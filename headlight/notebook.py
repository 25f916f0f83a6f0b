"""Traces and translators that show themselves in a notebook: the engine's, with the attention explorer."""

from collections.abc import Sequence
from pathlib import Path

import torch

import transformer
from transformer.model.names import AttentionKind

from .exploring import Display
from .views.attention.explorer_content import explorer_page, select_heads


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
