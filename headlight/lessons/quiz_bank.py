"""The file of the quiz: its texts, misconceptions and items."""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headlight.app.finding import Formatter
from transformer.untrusted import read_toml

QUIZ = Path(__file__).with_name("shipped") / "quiz.toml"


@functools.cache
def bank() -> Mapping[str, Any]:
    """Return the content of the quiz's file."""
    return read_toml(QUIZ)


def fill(text: str, /, *values: object, **named: object) -> str:
    """Return a text of the file with its {names} filled, no percentage on two lines."""
    return Formatter().format(text, *values, **named).replace(" %", "\u00a0%")
