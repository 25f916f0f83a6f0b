"""Language of the interface: which texts are shown, and how numbers and quotations are written in it.

Texts stand in a file such as texts.toml; texts.de.toml beside it has the same keys in German. What a language lacks is
shown in English. In all of them quotations stand between “ and ”, and numbers are written as in English, until
`number` and `quotations` write them as the language does.
"""

import re
import string
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, reduce
from numbers import Real
from pathlib import Path
from typing import Any

from transformer.untrusted import read_toml

ENGLISH = "en"
LANGUAGES: Mapping[str, Mapping[str, Any]] = read_toml(Path(__file__).with_suffix(".toml"))
_QUOTATION = re.compile("“([^“”„]*)”")
_speaking: ContextVar[str] = ContextVar("speaking", default="")
_chosen: list[Callable[[], str]] = [lambda: ENGLISH]


def choose_language(by: Callable[[], str]) -> None:
    """Let a function name the language of each text that is shown from now on, one of LANGUAGES."""
    _chosen[:] = [by]


def language() -> str:
    """Return the language of the interface: "en", "de" or "fr"."""
    return _speaking.get() or _chosen[0]()


@contextmanager
def speaking(name: str) -> Iterator[None]:
    """Show texts in a language meanwhile, whatever was chosen."""
    token = _speaking.set(name)
    try:
        yield
    finally:
        _speaking.reset(token)


def convention(name: str) -> Any:
    """Return how the language of the interface writes something, such as "decimal"."""
    return LANGUAGES[language()][name]


def name_of_language(name: str) -> str:
    """Return the name of a language, given in English, as the language of the interface has it within a sentence."""
    return str(convention("languages").get(name, name))


def texts_of(path: Path) -> Mapping[str, Any]:
    """Return the texts of a file in the language of the interface, in English where it lacks one."""
    return _read(path, language())


def form_of(template: str | Mapping[str, str], numbers: Mapping[str, Any]) -> str:
    """Return a template itself, or of its plural forms `one` and `other` the one for the number `count`."""
    if isinstance(template, str):
        return template
    return template["one" if numbers["count"] in convention("one") else "other"]


def texts_beside(module: str) -> Callable[..., str]:
    """Return a function that fills a text of a module, given its file, from texts.toml in the same folder."""
    path = Path(module)

    def fill(name: str, /, **values: object) -> str:
        text = form_of(texts_of(path.with_name("texts.toml"))[path.stem]["texts"][name], values)
        return text.format(**values) if language() == ENGLISH else LocalFormatter().vformat(text, (), values)

    return fill


class LocalFormatter(string.Formatter):
    """Python's formats, with numbers as the language of the interface writes them."""

    def format_field(self, value: Any, spec: str) -> str:
        """Format one value."""
        text = str(format(value, spec))
        return number(text) if isinstance(value, Real) else text


def first_known(*choices: str) -> str:
    """Return the first language that we have: of choices such as "fr" or "de-AT,en;q=0.5", else English."""
    return next((each[:2].lower() for each in choices if each[:2].lower() in LANGUAGES), ENGLISH)


def read_texts(path: Path) -> Mapping[str, Any]:
    """Return the texts of a file that may change as `texts_of` does."""
    return _read_now(path, language())


def _read_now(path: Path, language: str) -> Mapping[str, Any]:
    translated = path.with_suffix(f".{language}{path.suffix}")
    files = [path, *([translated] if translated.exists() else [])]
    return reduce(merged, (read_toml(file) for file in files))


_read = cache(_read_now)


def merged(texts: Any, others: Any) -> Any:
    """Return texts with those of `others` in place of the same ones: by key in tables, by place in lists of tables."""
    if isinstance(texts, dict) and isinstance(others, dict):
        return {key: merged(value, others[key]) if key in others else value for key, value in texts.items()}
    if isinstance(texts, list) and isinstance(others, list) and texts and isinstance(texts[0], dict):
        return [merged(*pair) for pair in zip(texts, others, strict=False)] + texts[len(others) :]
    return others


def number(text: str) -> str:
    """Return a number that is written as in English as the interface's language writes it: 1,234.5 % as 1.234,5 %."""
    if language() == ENGLISH:
        return text
    signs = {",": "thousands", ".": "decimal", " ": "space"}
    return text.translate(str.maketrans({sign: convention(name) for sign, name in signs.items()}))


def quotations(text: str) -> str:
    """Return a text with its quotations as the language of the interface writes them."""
    first, last = convention("quotes")
    return _QUOTATION.sub(lambda match: f"{first}{match[1]}{last}", text) if language() != ENGLISH else text
