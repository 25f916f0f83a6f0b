"""Words of lessons: templates with named values, from a lesson's file and from texts.toml.

A template has {name}, or {name:format} with a format of `headlight.app.finding`. Without a format a value is shown as
lessons show it: an index from 1, a share in percent, a head as addresses have it. Of a tuple {name:; } has the items
with "; " between them, {name:signed 2:; } each with a format, and {name} as a list. A template with the forms `one` and
`other` has the one that fits the value named `count`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from headlight.app.finding import Formatter
from headlight.language import LANGUAGES, form_of, number, texts_of
from headlight.plots.names import part_name, sentence_case
from headlight.plots.numbers import percent
from headlight.plots.tokens import nothing
from transformer.model.heads import Head

NAME = re.compile(r"\{([a-z_]+)(?::([^{}]*))?\}")
# Names, or their last words, that count from 0 in code and from 1 in texts and addresses.
INDICES = frozenset({"layer", "head", "row", "key", "query", "step", "dimension", "token", "against"})
_CLOSED = ("”", *(each["quotes"][1] for each in LANGUAGES.values()))
_ENDS = (".)", *(f"{mark}{closed}" for mark in ".!?" for closed in _CLOSED))  # of sentences within a text
Words = Mapping[str, Any]  # a template, or a table of its forms, by its name


@dataclass(frozen=True)
class Say:
    """A template of the words by its name, with values besides those of the text in which it stands."""

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return phrase_of(self.template, self.values, {})


def lesson_words() -> Mapping[str, Words]:
    """Return the words of all lessons, by their table in texts.toml."""
    return texts_of(Path(__file__).with_name("texts.toml"))


def names_in(text: str) -> list[str]:
    """Return the names that a template has."""
    return [name for name, _ in NAME.findall(text)]


def fill(template: str, values: Mapping[str, Any], words: Words | None = None) -> str:
    """Return a template with its {names} filled; one without a value stays as it is. words: of each `Say` in it."""

    def filled(match: re.Match[str]) -> str:
        name, spec = match.groups("")
        return match[0] if name not in values else _shown(name, values[name], spec, values, words or {})

    return NAME.sub(filled, template)


def phrase_of(template: str, values: Mapping[str, Any], words: Words) -> str:
    """Return a template of `words`, or else of those of all lessons, filled."""
    forms = words[template] if template in words else lesson_words()["shared"][template]
    return fill(form_of(forms, values), values, words)


def phrase(table: str, name: str, /, **values: Any) -> str:
    """Return a text of a table of texts.toml, filled."""
    return phrase_of(name, values, lesson_words()[table])


def _shown(name: str, value: Any, spec: str, values: Mapping[str, Any], words: Words) -> str:
    if isinstance(value, Say):
        phrase = phrase_of(value.template, {**values, **value.values}, words)
        return FORMATS[spec](phrase) if spec in FORMATS else phrase
    if isinstance(value, tuple):
        form, _, between = spec.rpartition(":")
        return _joined([_shown(name, each, form, values, words) for each in value], between)
    if spec in FORMATS:
        return FORMATS[spec](value)
    return Formatter().format_field(value, spec) if spec else text_of(name, value)


def _joined(texts: list[str], between: str) -> str:
    """Return texts with a text between them; without one as a list within a sentence: "a, b and c"."""
    if between:
        return between.join(texts)
    last = lesson_words()["shared"]["and"]
    return last.join(filter(None, (", ".join(texts[:-1]), *texts[-1:])))


def text_of(name: str, value: object) -> str:
    """Return a value as texts and addresses have it: INDICES from 1, shares in percent, heads as addresses."""
    if isinstance(value, Head):
        return value.address
    if isinstance(value, Integral):
        return str(int(value) + (name.rpartition("_")[2] in INDICES))
    return percent(float(value)) if isinstance(value, Real) else str(value)


def number_words(value: float) -> str:
    """Return a number with three significant digits and a true minus sign: 0.52, −1.7, 4,000."""
    rounded = float(f"{value:.3g}")
    return number((f"{rounded:,.0f}" if abs(rounded) >= 100 else f"{rounded:g}").replace("-", "−"))


def ended(text: str) -> str:
    """Return a text as the end of a sentence: with a full stop, unless a quoted sentence brings its own."""
    return text if text.endswith(_ENDS) and len(text) > len("“.”") else f"{text}."


def quoted_output(text: str) -> str:
    """Return what a model writes between quotation marks, or that it is nothing."""
    return f"“{text}”" if text else nothing()


def translated(text: str) -> str:
    """Return a translation as the end of a sentence."""
    return ended(quoted_output(text))


# Formats of lessons besides those of findings.
FORMATS: Mapping[str, Callable[[Any], str]] = {
    "capital": lambda value: sentence_case(str(value)),  # at the beginning of a sentence
    "number": number_words,
    "output": quoted_output,
    "translation": translated,  # at the end of a sentence
    "part": part_name,
}
