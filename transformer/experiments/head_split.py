"""How a tensor is split into heads, in numbered cells: the right way, and the reshape that mixes tokens."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Layout:
    """A tensor as PyTorch holds it: its cells in logical order, and where each lies in memory.

    `made_by` is the code that made it. `cells` holds the number of each cell, counted in memory of the first tensor, so
    `cells[i]` says which value stands there; `shape` and `strides` are in elements; `axes` names them.
    """

    made_by: str
    axes: tuple[str, ...]
    cells: np.ndarray
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    contiguous: bool


def split_right(tokens: int, heads: int, d_k: int) -> tuple[Layout, Layout, Layout]:
    """One sentence [1, tokens, heads d_k] whose cells are numbered; after `view`; after `transpose`."""
    x = numbered(tokens, heads * d_k)
    viewed = x.view(1, tokens, heads, d_k)
    return (
        layout("x", ("batch", "tokens", "d_model"), x),
        layout(f"x.view(1, {tokens}, {heads}, {d_k})", ("batch", "tokens", "heads", "d_k"), viewed),
        layout(".transpose(1, 2)", ("batch", "heads", "tokens", "d_k"), viewed.transpose(1, 2)),
    )


def split_wrong(tokens: int, heads: int, d_k: int) -> Layout:
    """The bare reshape to the same shape: it reads the memory on and puts pieces of several tokens into one head."""
    x = numbered(tokens, heads * d_k)
    axes, mixed = ("batch", "heads", "tokens", "d_k"), x.reshape(1, heads, tokens, d_k)
    return layout(f"x.reshape(1, {heads}, {tokens}, {d_k})", axes, mixed)


def numbered(tokens: int, d_model: int) -> Tensor:
    """[1, tokens, d_model], cells counted from 0 in memory; raises ValueError for a size below 1."""
    if tokens < 1 or d_model < 1:
        raise ValueError(f"sizes must be positive, got {tokens} tokens and d_model {d_model}")
    return torch.arange(tokens * d_model).view(1, tokens, d_model)


def layout(made_by: str, axes: tuple[str, ...], x: Tensor) -> Layout:
    """What PyTorch says of a tensor."""
    return Layout(made_by, axes, x.numpy().copy(), tuple(x.shape), x.stride(), x.is_contiguous())


def misplaced_cells(wrong: Layout, d_model: int) -> np.ndarray:
    """Of each row of each head, how many cells belong to another token than the row's own: [heads, tokens]."""
    cells = wrong.cells[0]  # heads tokens d_k
    rows = np.arange(cells.shape[1])[None, :, None]
    return (cells // d_model != rows).sum(axis=-1)
