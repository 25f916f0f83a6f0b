"""The file of the quiz: its texts, misconceptions and items."""

from collections.abc import Mapping
from typing import Any

from headlight.app.finding import Formatter
from headlight.language import quotations, texts_of

from .file import QUIZ


def bank() -> Mapping[str, Any]:
    """Return the content of the quiz's file in the language of the interface."""
    return texts_of(QUIZ)


def fill(text: str, /, *values: object, **named: object) -> str:
    """Return a text of the file with its {names} filled, quotations as in the language, no percentage on two lines."""
    return quotations(Formatter().format(text, *values, **named)).replace(" %", "\u00a0%")
