"""The closed register of measures: checks of a lesson's arguments, and answers."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from headlight.app import results
from headlight.app.results import TranslationRequest
from headlight.language import language

from .answer import MEASURES, Answer, Run, Undecided, Value


def all_measures() -> Mapping[str, Callable[..., Answer]]:
    """Return all measures by their names. They are imported at the first call: they take a thirtieth of the start."""
    from . import measures  # noqa: F401 -- its modules enter their functions into MEASURES

    return MEASURES


def wrong_arguments(name: str, arguments: Mapping[str, Any]) -> str:
    """Return the first mistake in a measure's name and arguments in one sentence, "" without any."""
    if name not in all_measures():
        return f"There is no measure “{name}”; there are {', '.join(sorted(all_measures()))}."
    parameters = _parameters(all_measures()[name])
    types = {parameter.name: parameter.annotation for parameter in parameters}
    for key, value in arguments.items():
        if key not in types:
            return f"The measure “{name}” has no argument “{key}”" + (f"; it has {', '.join(types)}." if types else ".")
        if not isinstance(value, types[key]) or (types[key] is int and isinstance(value, bool)):
            return f"The argument “{key}” of “{name}” must be {types[key].__name__}, not {value!r}."
    needed = {parameter.name for parameter in parameters if parameter.default is parameter.empty}
    missing = sorted(needed - arguments.keys())
    return f"The measure “{name}” needs the argument “{missing[0]}”." if missing else ""


def _parameters(function: Callable[..., Answer]) -> list[inspect.Parameter]:
    return list(inspect.signature(function).parameters.values())[1:]


def table_of_measures() -> str:
    """Return all measures as a table in Markdown, each with its arguments and its question."""
    rows = ["| measure | arguments | what it asks |", "|---|---|---|"]
    for name, function in sorted(all_measures().items()):
        arguments = ", ".join(f"`{each}`".replace("'", '"') for each in _parameters(function)) or "none"
        rows.append(f"| `{name}` | {arguments} | {(inspect.getdoc(function) or '').splitlines()[0]} |")
    return "\n".join(rows) + "\n"


def answer_of(run: Run, name: str, arguments: Mapping[str, Any]) -> Answer:
    """Return a measure's answer, cached per request, but of a measure of the page.

    Raises Undecided where the sentence decides nothing, UserError where it cannot be translated.
    """
    if getattr(all_measures()[name], "reads_address", False):
        return all_measures()[name](run, **arguments)
    answer = _cached_answer(run.request, name, tuple(sorted(arguments.items())), language())
    if isinstance(answer, Undecided):
        raise answer
    return answer


@results.cached(max_entries=256, show_spinner=False)
def _cached_answer(
    request: TranslationRequest, name: str, arguments: tuple[tuple[str, Value], ...], interface: str
) -> Answer | Undecided:
    try:
        return all_measures()[name](Run(request), **dict(arguments))
    except Undecided as undecided:
        return undecided
