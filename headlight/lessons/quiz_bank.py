"""The file of the quiz: its texts, misconceptions and items."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headlight.app.finding import Formatter
from headlight.language import texts_of

QUIZ = Path(__file__).with_name("shipped") / "quiz.toml"


def bank() -> Mapping[str, Any]:
    """Return the content of the quiz's file in the language of the interface."""
    return texts_of(QUIZ)


def fill(text: str, /, *values: object, **named: object) -> str:
    """Return a text of the file with its {names} filled, no percentage on two lines."""
    return Formatter().format(text, *values, **named).replace(" %", "\u00a0%")
