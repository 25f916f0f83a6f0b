"""Changes of a run: a closed set of interventions, each also as a short text.

    Zero("cross", 2, 5)                          zero:cross.2.5         the head's output is zero
    Focus("cross", key=3, rows=Rows(4))          focus:cross.*.*:3@4-   from row 4 on, every head attends to key 3 alone
    Zero("encoder.feed_forward", 2, units=[5])   zero:encoder.feed_forward.2.5    the hidden unit is zero

An intervention is frozen and hashable, so that it can be part of a cache's key. Layers, heads, units, rows and keys
count from 0. `str` gives its text, for addresses, notebooks and the command line, which `parse` reads:

    NAME:KIND.LAYER.HEAD[:ARGUMENT][@ROWS]       forbid:cross.2.*:3@4-

A layer or head "*" stands for all of them, as it does for units, which may be several ("5,17"); rows are one ("@4"),
some ("@4-6") or the rest of the sentence ("@4-"). Vectors and functions have no text: see `custom`.
"""

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from ...errors import InterventionError
from ...model.heads import Heads
from ...model.names import HEADS, UNITS, AttentionKind, Part


@dataclass(frozen=True)
class Rows:
    """Queries that an intervention concerns: from `first` to `last`, None for the rest of the sentence.

    A decoder's row is the decoding step whose token was fed, an encoder's the position of a source token.
    """

    first: int = 0
    last: int | None = None

    def __post_init__(self) -> None:
        if self.first < 0 or (self.last is not None and self.last < self.first):
            rows = f"{self.first} to {self.last}"
            raise InterventionError(f"Rows count from 0 and end where they begin or later, not {rows}.")

    def __str__(self) -> str:
        if self == EVERY_ROW:
            return ""
        if self.last == self.first:
            return f"@{self.first}"
        return f"@{self.first}-{'' if self.last is None else self.last}"


EVERY_ROW = Rows()


@dataclass(frozen=True)
class Intervention:
    """A change of one part of the model in some rows; one of the classes below.

    kind: "encoder", "decoder" or "cross" for the heads of an attention, or another `Part`; a layer or head None stands
    for all of them. Raises ValueError for another kind, and InterventionError for a kind that the class cannot
    change, a negative number, or a head of a part without heads.
    """

    name: ClassVar[str]
    option: ClassVar[str] = ""  # the field whose value stands in the text form after the heads
    kinds: ClassVar[tuple[Part, ...]] = HEADS
    kind: Part | AttentionKind | str
    layer: int | None = None
    head: int | None = None
    rows: Rows = field(default=EVERY_ROW, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", Part(self.kind))
        if self.part not in self.kinds:
            raise InterventionError(f"{self.name} concerns {', '.join(self.kinds)}; there is none of {self.kind}.")
        _require_not_negative(self.layer, self.head)
        if self.head is not None and not self.part.is_heads:
            raise InterventionError(f"{self.name} of {self.kind} has no head: only attention has heads.")

    @classmethod
    def of(cls, heads: Heads, **options: Any) -> Self:
        """Return the change of these heads; options: rows, and further fields of the class."""
        return cls(heads.kind, heads.layer, heads.head, **options)

    @property
    def part(self) -> Part:
        """Return the changed part."""
        return Part(self.kind)

    @property
    def heads(self) -> Heads:
        """Return the changed heads; raises ValueError for another part."""
        return Heads.of(self.kind, self.layer, self.head)

    @property
    def rewrites(self) -> bool:
        """Return True for new attention weights (`rewritten`), False for new vectors (`replaced`)."""
        return False

    def concerns(self, part: Part, layer: int) -> bool:
        """Return True if something of this part's layer is changed."""
        return self.part == part and self.layer in (None, layer)

    def __str__(self) -> str:
        value = getattr(self, self.option) if self.option else ()
        values = value if isinstance(value, tuple) else (value,)
        argument = ":" * bool(values) + ",".join(repr(each).removesuffix(".0") for each in values)
        layer, index = ("*" if number is None else number for number in (self.layer, self._index_text()))
        return f"{self.name}:{self.kind}.{layer}.{index}{argument}{self.rows}"

    def _index_text(self) -> object:
        return self.head

    def span(self, first_row: int, rows: int) -> slice:
        """Return the concerned rows of a block whose rows begin at `first_row`."""
        end = rows if self.rows.last is None else self.rows.last + 1 - first_row
        return slice(max(0, self.rows.first - first_row), max(0, min(rows, end)))

    def cells(self, num_heads: int, first_row: int, queries: int, device: torch.device) -> Tensor:
        """Mark the concerned heads and rows of a block whose rows begin at `first_row`: [heads, queries]."""
        cells = torch.zeros(num_heads, queries, dtype=torch.bool, device=device)
        cells[slice(None) if self.head is None else self.head, self.span(first_row, queries)] = True
        return cells

    def rewritten(self, weights: Tensor, unmasked: Tensor) -> Tensor:
        """Compute all rows' new weights: [batch, heads, queries, keys], as given.

        unmasked: [batch, 1, queries, keys], True where a query may attend; a masked cell always stays 0.
        """
        raise NotImplementedError

    def replaced(self, output: Tensor, first_row: int, mean: Tensor | None) -> Tensor:
        """Return the vectors after the change: [batch, heads, rows, d_k] or [batch, rows, width], as given.

        mean: the mean vector of all rows, without batch and rows, where it was measured.
        """
        raise NotImplementedError


def _require_not_negative(*numbers: int | None) -> None:
    for number in numbers:
        if number is not None and number < 0:
            raise InterventionError(f"Layers, heads and units count from 0, so there is no {number}.")


@dataclass(frozen=True)
class Ablation(Intervention):
    """Replacement of a head's output, whatever its attention, whose weights are shown as they are; or a feed-forward's
    hidden units, after the activation: those in `units`, all of them where it is None.
    """

    kinds: ClassVar[tuple[Part, ...]] = (*HEADS, *UNITS)
    units: Sequence[int] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.units is None:
            return
        units = tuple(map(operator.index, self.units))
        object.__setattr__(self, "units", units)
        if self.part not in UNITS or not units:
            raise InterventionError(
                f"Units are those of {' or '.join(UNITS)}, at least one: not {units} of {self.kind}."
            )
        _require_not_negative(*units)

    def _index_text(self) -> object:
        return self.head if self.units is None else ",".join(map(str, self.units))

    def replaced(self, output: Tensor, first_row: int, mean: Tensor | None) -> Tensor:
        """Return the vectors with zero or the mean in the concerned places."""
        cells = torch.zeros(output.shape[1:], dtype=torch.bool, device=output.device)
        rows = self.span(first_row, output.shape[-2])
        if self.part.is_heads:
            cells[slice(None) if self.head is None else self.head, rows] = True
        else:
            cells[rows, slice(None) if self.units is None else list(self.units)] = True
        return torch.where(cells, self._filling(mean, output), output)

    def _filling(self, mean: Tensor | None, output: Tensor) -> Tensor | float:
        return 0.0


class Zero(Ablation):
    """Zero: the heads' slices of the concatenation before W_O (Michel et al. 2019, 2.3), or the units' activations.

    A feed-forward without any unit adds its output bias b_2 alone.
    """

    name: ClassVar[str] = "zero"


class Mean(Ablation):
    """The means over a corpus, so that later layers still read usual values; see `measure_means`."""

    name: ClassVar[str] = "mean"

    def _filling(self, mean: Tensor | None, output: Tensor) -> Tensor | float:
        assert mean is not None  # as was checked before the run
        mean = mean.to(output.dtype)
        return mean[:, None] if self.part.is_heads else mean


class Rewriting(Intervention):
    """New attention weights, each row summing to 1; the heads' outputs are the new weights times the values."""

    @property
    def rewrites(self) -> bool:
        """Return True."""
        return True


class Uniform(Rewriting):
    """The same weight on every key that the query may attend to."""

    name: ClassVar[str] = "uniform"

    def rewritten(self, weights: Tensor, unmasked: Tensor) -> Tensor:
        return _renormalised(unmasked.to(weights.dtype).expand_as(weights), weights)


@dataclass(frozen=True)
class _OnKey(Rewriting):
    """Rewriting of one key, by its position."""

    option: ClassVar[str] = "key"
    key: int = field(kw_only=True)


class Focus(_OnKey):
    """All weight on one key. A row that may not attend to it, or has no such key, stays as it is."""

    name: ClassVar[str] = "focus"

    def rewritten(self, weights: Tensor, unmasked: Tensor) -> Tensor:
        chosen = torch.arange(weights.shape[-1], device=weights.device) == self.key
        return _renormalised((unmasked & chosen).to(weights.dtype).expand_as(weights), weights)


class Forbid(_OnKey):
    """No weight on one key, the others renormalised (attention knockout, Geva et al. 2023).

    The same as masking the key. A row with no other key attends to nothing and its output is 0, as from the fused
    kernel.
    """

    name: ClassVar[str] = "forbid"

    def rewritten(self, weights: Tensor, unmasked: Tensor) -> Tensor:
        others = torch.arange(weights.shape[-1], device=weights.device) != self.key
        allowed = weights * others
        without = _renormalised(allowed, torch.zeros_like(weights))
        return torch.where((allowed != weights).any(dim=-1, keepdim=True), without, weights)


@dataclass(frozen=True)
class Shift(Rewriting):
    """Each weight moves so many keys to the right, or to the left where `by` is negative, and all are renormalised.

    Weights that move beyond the sentence or under the mask are lost; a row that would lose all stays as it is.
    """

    name: ClassVar[str] = "shift"
    option: ClassVar[str] = "by"
    by: int = field(default=1, kw_only=True)

    def rewritten(self, weights: Tensor, unmasked: Tensor) -> Tensor:
        keys = weights.shape[-1]
        origins = torch.arange(keys, device=weights.device) - self.by
        moved = weights[..., origins.clamp(0, keys - 1)] * ((origins >= 0) & (origins < keys))
        return _renormalised(moved * unmasked, weights)


@dataclass(frozen=True)
class SetWeights(Rewriting):
    """These weights, first key first, renormalised over the keys that the query may attend to.

    Further keys get 0. A row that may attend to none of the keys with weight stays as it is. Raises InterventionError
    for weights that are negative or all 0.
    """

    name: ClassVar[str] = "given"
    option: ClassVar[str] = "weights"
    weights: tuple[float, ...] = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        weights = tuple(map(float, self.weights))
        object.__setattr__(self, "weights", weights)
        if not all(0 <= weight < float("inf") for weight in weights) or not sum(weights) > 0:
            raise InterventionError("Given weights are positive or 0, and not all 0.")

    def rewritten(self, weights: Tensor, unmasked: Tensor) -> Tensor:
        row = weights.new_zeros(weights.shape[-1])
        fitting = self.weights[: len(row)]
        row[: len(fitting)] = weights.new_tensor(fitting)
        return _renormalised((unmasked * row).expand_as(weights), weights)


def _renormalised(weights: Tensor, otherwise: Tensor) -> Tensor:
    """Divide each row by its sum; a row that sums to 0 is that of `otherwise`."""
    total = weights.sum(dim=-1, keepdim=True)
    return torch.where(total > 0, weights / total.clamp_min(torch.finfo(weights.dtype).tiny), otherwise)


@dataclass(frozen=True)
class Unrepeatable(Intervention):
    """A patch or a function in a trace's file, which has its name without vectors, so that it cannot be run."""

    kinds: ClassVar[tuple[Part, ...]] = tuple(Part)
    name: str = field(kw_only=True)  # type: ignore[misc]  # of each one, not of the class


INTERVENTIONS = {each.name: each for each in (Zero, Mean, Uniform, Focus, Forbid, Shift, SetWeights)}
_WITHOUT_TEXT = ("patch", "apply")
_NUMBER = r"[0-9]{1,5}"
_TEXT = re.compile(
    rf"({'|'.join((*INTERVENTIONS, *_WITHOUT_TEXT))}):({'|'.join(map(re.escape, Part))})"
    rf"\.({_NUMBER}|\*)\.({_NUMBER}(?:,{_NUMBER})*|\*)"
    rf"(?::([^@]+))?(?:@({_NUMBER})(-({_NUMBER})?)?)?"
)


def parse(text: str) -> Intervention:
    """Read an intervention; raises InterventionError for a text that is none."""
    read = parse_saved(text)
    if isinstance(read, Unrepeatable):
        raise InterventionError(f"“{text}” is no intervention that a text can give: its values are not in it.")
    return read


def parse_saved(text: str) -> Intervention:
    """Read an intervention that a trace's file names, which may be `Unrepeatable`; raises InterventionError."""
    match = _TEXT.fullmatch(text)
    if match is None:
        raise InterventionError(f"“{text}” is no intervention: one reads like zero:cross.2.5 or forbid:cross.2.*:3@4-.")
    name, kind, layer, index, argument, first, many, last = match.groups()
    rows = EVERY_ROW
    if first is not None:
        rows = Rows(int(first), int(last) if last else None if many else int(first))
    cls = INTERVENTIONS.get(name, Unrepeatable)
    try:
        options = {"rows": rows, **_index(cls, Part(kind), index), **_options(cls.option, argument)}
        options |= {"name": name} if cls is Unrepeatable else {}
        return cls(kind, None if layer == "*" else int(layer), **options)
    except ValueError as error:
        raise InterventionError(f"“{text}” is no intervention: “{argument or index}” does not fit {name}.") from error


def _index(cls: type[Intervention], part: Part, text: str) -> dict[str, Any]:
    """Return the head, or the units, that a text names; raises ValueError for several heads."""
    if text == "*":
        return {}
    if part in UNITS and issubclass(cls, Ablation):
        return {"units": map(int, text.split(","))}
    return {"head": int(text)}


def _options(option: str, argument: str | None) -> dict[str, Any]:
    """Return the option that an argument sets; raises ValueError where it does not fit."""
    if not option and argument is None:
        return {}
    if option == SetWeights.option:
        return {option: tuple(map(float, (argument or "").split(",")))}
    number = {_OnKey.option: _NUMBER, Shift.option: rf"-?{_NUMBER}"}.get(option)
    if number is None or re.fullmatch(number, argument or "") is None:
        raise ValueError("a number expected, of a key from 0 on, or nothing")
    return {option: int(argument or "")}
