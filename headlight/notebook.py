"""Traces and translators that show themselves in a notebook: the engine's, with the attention explorer."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, overload

import torch

import transformer
from transformer.checkpoint import locate, model_kind
from transformer.config import ModelKind
from transformer.errors import UserError
from transformer.interpret.one_stack import OneStackTranslator
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


@overload
def load(  # type: ignore[overload-overlap]
    checkpoint: Literal["en-de-one-stack"], device: str | torch.device | None = None, dtype: None = None
) -> OneStackTranslator: ...


@overload
def load(
    checkpoint: str | Path, device: str | torch.device | None = None, dtype: str | torch.dtype | None = None
) -> Translator: ...


def load(
    checkpoint: str | Path, device: str | torch.device | None = None, dtype: str | torch.dtype | None = None
) -> Translator | OneStackTranslator:
    """Load a checkpoint, a folder or the name of a shipped one ("en-de").

    dtype: what it computes in, "float32" (None), "float64", "bfloat16" or "float16"; one stack ("en-de-one-stack")
    knows float32 alone. Raises CheckpointError, DeviceError, UserError, and ValueError for another type.
    """
    if model_kind(locate(checkpoint)) is ModelKind.ONE_STACK:
        if dtype not in (None, "float32", torch.float32):
            raise UserError(f"One stack computes in float32, not {dtype}.")
        return OneStackTranslator.load(checkpoint, device)
    return Translator.load(checkpoint, device, dtype)
