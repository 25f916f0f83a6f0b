"""Findings: texts of figures, kept as templates with named numbers until they are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from headlight.language import LocalFormatter, form_of, number, texts_of
from headlight.plots.names import kind_head_name, one_head_name
from headlight.plots.numbers import factor, format_error, format_probability, percent, pluralize, scientific, signed
from headlight.plots.tokens import quoted, quoted_at


def short(value: float) -> str:
    """Return a positive number with few digits: 0.00068, 6.3, 112, 47,117."""
    return number(f"{value:.2g}" if value < 1 else f"{value:.1f}" if value < 100 else f"{value:,.0f}")


# Formats behind the colon of a field, besides Python's own; some take an argument after a blank.
FORMATS: dict[str, Callable[..., str]] = {
    "count": pluralize,  # {rows:count row}: "3 rows"
    "error": format_error,
    "factor": lambda value, digits="1": factor(value, int(digits)),
    "head": lambda head: one_head_name(head.layer, head.head),
    "kind_head": kind_head_name,
    "percent": percent,
    "probability": format_probability,
    "scientific": lambda value, digits="3": scientific(value, int(digits)),
    "short": short,
    "signed": lambda value, digits="2": signed(value, int(digits)),
    "token": quoted,
}


@dataclass(frozen=True)
class TokenAt:
    """Token of a sentence, quoted, with its number from 1 where another token equals it."""

    tokens: Sequence[str]
    position: int
    noun: str = "position"

    def __str__(self) -> str:
        return quoted_at(self.tokens, self.position, self.noun)


class Formatter(LocalFormatter):
    """Python's formats and FORMATS; the format of a tuple is the text between its items."""

    def format_field(self, value: Any, spec: str) -> str:
        """Format one number."""
        if isinstance(value, tuple):
            return spec.join(map(str, value))
        name, _, argument = spec.partition(" ")
        if name in FORMATS:
            return FORMATS[name](value, *filter(None, [argument]))
        return super().format_field(value, spec)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Text about the example in a figure: a template with its numbers, and the findings behind "more".

    `finding["mean"]` is a number by its name, `"answer" in finding` says whether a template is used; both look into
    the details, and into findings among the numbers. The first template of a finding that is shown is its headline, a
    sentence of at most 12 words.
    """

    template: str
    name: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    details: tuple[Finding, ...] = ()

    @property
    def headline(self) -> str:
        """The first sentence."""
        return Formatter().vformat(self.template, (), self.numbers)

    @property
    def more(self) -> str:
        """The details."""
        return " ".join(map(str, self.details))

    def __str__(self) -> str:
        return f"{self.headline} {self.more}".rstrip()

    def followed_by(self, *details: Finding | None) -> Finding:
        """Return the finding with more details; None stands for nothing."""
        return replace(self, details=(*self.details, *(each for each in details if each is not None)))

    def __getitem__(self, name: str) -> Any:
        for part in self._parts():
            if name in part.numbers:
                return part.numbers[name]
        raise KeyError(name)

    def __contains__(self, name: str) -> bool:
        return any(part.name == name for part in self._parts())

    def _parts(self) -> Iterator[Finding]:
        yield self
        for value in self.numbers.values():
            for each in value if isinstance(value, tuple) else (value,):
                if isinstance(each, Finding):
                    yield from each._parts()
        for detail in self.details:
            yield from detail._parts()


class Templates:
    """Templates of a view by name: headlines, and texts for everything else. A call fills one of them.

    A template may have the plural forms `one` and `other`, between which the number `count` chooses.
    """

    def __init__(self, read: Callable[[], Mapping[str, Mapping[str, Any]]]):
        self._read = read

    @classmethod
    def beside(cls, module: str) -> Templates:
        """Return the templates of a module, given its file, from texts.toml in the same folder."""
        path = Path(module)
        return cls(lambda: texts_of(path.with_name("texts.toml"))[path.stem])

    @property
    def headlines(self) -> Mapping[str, Any]:
        """Return the headlines in the language of the interface."""
        return self._read().get("headlines", {})

    @property
    def texts(self) -> Mapping[str, Any]:
        """Return all other texts in the language of the interface."""
        return self._read().get("texts", {})

    def __call__(self, name: str, /, **numbers: Any) -> Finding:
        template = self.headlines[name] if name in self.headlines else self.texts[name]
        finding = Finding(template=form_of(template, numbers), name=name, numbers=numbers)
        for watch in _watchers:
            watch(finding)
        return finding

    def notice(self, name: str) -> str:
        """Return a text for the argument of a decorator: `str` fills it when it is shown, in the language then."""
        return type("Notice", (str,), {"__str__": lambda _: self.text(name)})(name)

    def text(self, name: str, /, **numbers: Any) -> str:
        """Return a filled template that stands alone: a caption, a label, an alt text."""
        return self(name, **numbers).headline


_watchers: list[Callable[[Finding], object]] = []


@contextmanager
def watched(watch: Callable[[Finding], object]) -> Iterator[None]:
    """Let a function see each template that is filled during the block."""
    _watchers.append(watch)
    try:
        yield
    finally:
        _watchers.remove(watch)
