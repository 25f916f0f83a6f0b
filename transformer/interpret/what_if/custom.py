"""Interventions by the caller: vectors in place of the model's, and functions of the model's vectors.

Patch("encoder.stream", 3, position=2, value=vector)    the residual stream of position 2 after the third layer
Apply("cross", function, layer=2, head=5)               a function of the head's weights
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Self

import torch
from torch import Tensor

from ...errors import InterventionError
from ...model.names import AttentionKind, Part
from .intervention import EVERY_ROW, Intervention, Rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..activations import Activations


@dataclass(frozen=True, eq=False)
class Patch(Intervention):
    """Put vectors in place of a part's own, such as those of another sentence's run (Vig et al. 2020).

    value: [width] for one row, or for each of several, or [rows, width], one a row from the first on; rows that have
    none keep their own. width is d_model for a stream or an attention, d_ff for a feed-forward, d_k for a head, which
    must be named. `position` is short for `rows=Rows(position, position)`; a position that a sentence does not have
    changes nothing. Of a stream, layer 0 is before the first layer, 1 after it. Values are cast to the model's type.
    Each patch equals itself alone, and has no text to be made of. Raises InterventionError for values of another shape.
    """

    name: ClassVar[str] = "patch"
    kinds: ClassVar[tuple[Part, ...]] = tuple(Part)
    value: "Tensor | ArrayLike" = field(kw_only=True, repr=False)
    position: int | None = field(default=None, kw_only=True)

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.position is not None:
            if self.rows != EVERY_ROW:
                raise InterventionError(f"{self} has rows and a position: give one of them.")
            object.__setattr__(self, "rows", Rows(self.position, self.position))
        if self.layer is None or (self.part.is_heads and self.head is None):
            raise InterventionError(f"{self} needs a layer, and of heads one: vectors belong to one place.")
        object.__setattr__(self, "value", torch.as_tensor(self.value).detach().clone())
        rows = None if self.rows.last is None else self.rows.last + 1 - self.rows.first
        if self.vectors.dim() not in (1, 2) or (self.vectors.dim() == 2 and rows not in (None, len(self.vectors))):
            expected = "[width] or [rows, width]" if rows is None else f"[width] or [{rows}, width]"
            raise InterventionError(f"{self}: values of shape {expected} expected, got {list(self.vectors.shape)}.")

    @classmethod
    def from_activations(
        cls,
        seen: "Activations",
        kind: Part | AttentionKind | str,
        layer: int,
        *,
        head: int | None = None,
        position: int | None = None,
        sentence: int = 0,
    ) -> Self:
        """Return the patch that puts a recorded pass's vectors there: at one position, or at all of them.

        The pass must have kept the part's module, as one of `RESIDUAL_STREAM` has of a stream; raises ValueError where
        it has not, and IndexError for a head, position or sentence that it does not have.
        """
        vectors = seen.call(Part(kind).module(layer)).output[sentence]
        vectors = vectors if head is None else vectors[head]
        value = vectors if position is None else vectors[position]
        return cls(kind, layer, head, position=position, value=value)

    @property
    def vectors(self) -> Tensor:
        """Return the values as a tensor."""
        assert isinstance(self.value, Tensor)
        return self.value

    def replaced(self, output: Tensor, first_row: int, mean: Tensor | None) -> Tensor:
        """Return the vectors with the values in their place."""
        rows, values = self.span(first_row, output.shape[-2]), self.vectors.to(output)
        if values.dim() == 2:
            begin = first_row + rows.start - self.rows.first
            values = values[begin : begin + rows.stop - rows.start]
            rows = slice(rows.start, rows.start + len(values))
        output = output.clone()
        if self.part.is_heads:
            output[:, self.head, rows] = values
        else:
            output[:, rows] = values
        return output


@dataclass(frozen=True, init=False)
class Apply(Intervention):
    """Put a function of a part's vectors or, of heads, of their attention weights in their place.

    The function is given a copy of the values of one call of a layer, and returns a tensor of the same shape and type:

    - of heads ("encoder", "decoder", "cross") the weights [batch, heads, queries, keys], of the one head where one is
      named; a masked cell stays 0, and a row need not sum to 1;
    - of a stream, an attention or a feed-forward the vectors [batch, positions, width].

    Only the rows in `rows` are replaced. A function that returns its argument changes no bit; one that does what a
    built-in class does gives the same output.

    For all runs to agree, the function must treat each sentence of the batch, and in the decoder each
    position, alone. While it decodes, the model calls it with the newest position alone (keys are all so far), for
    every translation that is under way; a recorded pass has all positions at once, padding among them, and a trace asks
    once more for the weights that it shows. It may run in several threads. What it raises ends the run, with a note
    that names the intervention, and ValueError tells of another shape or type. It has no text, and so no address.
    """

    name: ClassVar[str] = "apply"
    kinds: ClassVar[tuple[Part, ...]] = tuple(Part)
    function: Callable[[Tensor], Tensor] = field(kw_only=True)

    def __init__(
        self,
        kind: Part | AttentionKind | str,
        function: Callable[[Tensor], Tensor],
        layer: int | None = None,
        head: int | None = None,
        *,
        rows: Rows = EVERY_ROW,
    ) -> None:
        for name, value in (("kind", kind), ("layer", layer), ("head", head), ("rows", rows), ("function", function)):
            object.__setattr__(self, name, value)
        self.__post_init__()

    @property
    def rewrites(self) -> bool:
        """Return True for heads, whose weights the function replaces."""
        return self.part.is_heads

    def rewritten(self, weights: Tensor, unmasked: Tensor) -> Tensor:
        """Compute the weights of all rows by the function."""
        chosen = slice(None) if self.head is None else slice(self.head, self.head + 1)
        after = weights.clone()
        after[:, chosen] = torch.where(unmasked, self._applied(weights[:, chosen]), 0.0)
        return after

    def replaced(self, output: Tensor, first_row: int, mean: Tensor | None) -> Tensor:
        """Return the vectors with the function's in their rows."""
        rows, after = self.span(first_row, output.shape[1]), output.clone()
        after[:, rows] = self._applied(output)[:, rows]
        return after

    def _applied(self, x: Tensor) -> Tensor:
        try:
            made = self.function(x.clone())
        except Exception as error:
            error.add_note(f"raised by the function of the intervention {self}, given {list(x.shape)}, {x.dtype}")
            raise
        if not isinstance(made, Tensor):
            raise ValueError(f"{self}: the function must return a tensor, got {type(made).__name__}")
        if (made.shape, made.dtype, made.device) != (x.shape, x.dtype, x.device):
            expected, got = (f"{list(each.shape)}, {each.dtype} on {each.device}" for each in (x, made))
            raise ValueError(f"{self}: the function must return a tensor of {expected}, as it was given; got {got}")
        return made
