"""The interventions that a text names, for addresses, notebooks and the command line.

    NAME:KIND.LAYER.HEAD[:ARGUMENT][@ROWS]      forbid:cross.2.*:3@4-

A layer or head "*" stands for all of them; rows are one ("@4"), some ("@4-6") or the rest of the sentence ("@4-").
"""

import re
from collections.abc import Iterable
from typing import Any

from ...errors import InterventionError
from ...model.names import AttentionKind
from .intervention import EVERY_ROW, Focus, Forbid, Heads, Intervention, Mean, Rows, SetWeights, Shift, Uniform, Zero

_SEPARATOR = "~"  # between interventions: no address has to encode it
INTERVENTIONS = {each.name: each for each in (Zero, Mean, Uniform, Focus, Forbid, Shift, SetWeights)}
_NUMBER = r"[0-9]{1,5}"
_TEXT = re.compile(
    rf"({'|'.join(INTERVENTIONS)}):({'|'.join(AttentionKind)})\.({_NUMBER}|\*)\.({_NUMBER}|\*)"
    rf"(?::([^@]+))?(?:@({_NUMBER})(-({_NUMBER})?)?)?"
)


def parse(text: str) -> Intervention:
    """The intervention with this text; raises InterventionError for a text that is none."""
    found = _TEXT.fullmatch(text)
    if found is None:
        raise InterventionError(f"“{text}” is no intervention: one reads like zero:cross.2.5 or forbid:cross.2.*:3@4-.")
    name, kind, layer, head, argument, first, many, last = found.groups()
    heads = Heads(AttentionKind(kind), *(None if number == "*" else int(number) for number in (layer, head)))
    rows = EVERY_ROW
    if first is not None:
        rows = Rows(int(first), int(last) if last else None if many else int(first))
    try:
        return INTERVENTIONS[name].of(heads, rows=rows, **_arguments(name, argument))
    except ValueError as error:
        raise InterventionError(f"“{text}” is no intervention: “{argument or ''}” does not fit {name}.") from error


def _arguments(name: str, argument: str | None) -> dict[str, Any]:
    """Return what stands between heads and rows, by its name; raises ValueError where it does not fit."""
    if name in (Focus.name, Forbid.name, Shift.name):
        if re.fullmatch(rf"-?{_NUMBER}" if name == Shift.name else _NUMBER, argument or "") is None:
            raise ValueError("a number expected, of a key from 0 on")
        return {"by" if name == Shift.name else "key": int(argument)}  # type: ignore[arg-type]
    if name == SetWeights.name:
        return {"weights": tuple(map(float, (argument or "").split(",")))}
    if argument is not None:
        raise ValueError("nothing expected")
    return {}


def parse_all(text: str) -> tuple[Intervention, ...]:
    """The interventions of a text, none for an empty one; raises InterventionError."""
    return tuple(map(parse, text.split(_SEPARATOR))) if text else ()


def text_of(interventions: Iterable[Intervention]) -> str:
    """The text that `parse_all` reads: one after the other, "~" between them."""
    return _SEPARATOR.join(map(str, interventions))
