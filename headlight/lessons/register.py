"""The closed register of measures: whether a lesson's file asks for one rightly, and what it finds."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from headlight.app import results
from headlight.app.results import TranslationRequest

from .answer import MEASURES, Answer, Run, Undecided, Value


def _measures() -> Mapping[str, Callable[..., Answer]]:
    """Return all measures by their names. They are imported when the first is asked for: a first visit asks for none.

    With what they import they take a thirtieth of the time that the app needs to start.
    """
    from . import measures  # noqa: F401 -- its modules enter their functions into MEASURES

    return MEASURES


def wrong_arguments(name: str, arguments: Mapping[str, Any]) -> str:
    """Return what is wrong with a measure's name and arguments in one sentence, "" where nothing is."""
    if name not in _measures():
        return f"There is no measure “{name}”; there are {', '.join(sorted(_measures()))}."
    _, *parameters = inspect.signature(_measures()[name]).parameters.values()
    types = {parameter.name: parameter.annotation for parameter in parameters}
    for key, value in arguments.items():
        if key not in types:
            return f"The measure “{name}” has no argument “{key}”" + (f"; it has {', '.join(types)}." if types else ".")
        if not isinstance(value, types[key]) or (types[key] is int and isinstance(value, bool)):
            return f"The argument “{key}” of “{name}” must be {types[key].__name__}, not {value!r}."
    needed = {parameter.name for parameter in parameters if parameter.default is parameter.empty}
    missing = sorted(needed - arguments.keys())
    return f"The measure “{name}” needs the argument “{missing[0]}”." if missing else ""


def measures_told() -> str:
    """Return all measures as a table in Markdown: each with its arguments and what it asks."""
    rows = ["| measure | arguments | what it asks |", "|---|---|---|"]
    for name, function in sorted(_measures().items()):
        _, *parameters = inspect.signature(function).parameters.values()
        arguments = ", ".join(f"`{each}`".replace("'", '"') for each in parameters) or "none"
        rows.append(f"| `{name}` | {arguments} | {(inspect.getdoc(function) or '').splitlines()[0]} |")
    return "\n".join(rows) + "\n"


def answer_of(run: Run, name: str, arguments: Mapping[str, Any]) -> Answer:
    """Return what a measure finds; once for a run, but for what is to be done, which is looked at each time.

    Raises Undecided where the sentence decides nothing, UserError where it cannot be translated.
    """
    found = _measured(run.request, name, tuple(sorted(arguments.items())), run.address)
    if isinstance(found, Undecided):
        raise found
    return found


def _measured(
    request: TranslationRequest, name: str, arguments: tuple[tuple[str, Value], ...], address: Mapping[str, str]
) -> Answer | Undecided:
    reads_address = bool(getattr(_measures()[name], "reads_address", False))
    if reads_address:
        return _measure(Run(request, address), name, arguments)
    return _kept(request, name, arguments)


@results.cached(max_entries=256, show_spinner=False)
def _kept(request: TranslationRequest, name: str, arguments: tuple[tuple[str, Value], ...]) -> Answer | Undecided:
    return _measure(Run(request), name, arguments)


def _measure(run: Run, name: str, arguments: tuple[tuple[str, Value], ...]) -> Answer | Undecided:
    try:
        return _measures()[name](run, **dict(arguments))
    except Undecided as undecided:
        return undecided
