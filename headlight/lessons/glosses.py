"""Meanings of a translation's words in English, for learners who do not read its language."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from headlight.language import ENGLISH
from headlight.language import language as interface

FILE = Path(__file__).with_name("glosses.toml")


@cache
def _read() -> dict[str, dict[str, str]]:
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def glosses(language: str) -> Mapping[str, str]:
    """Return the meanings of a language's words as tokens have them, "sie": "she"; empty for a language without any."""
    return _read().get(language, {})


def shown_glosses(language: str) -> Mapping[str, str]:
    """Return `glosses` for readers of them: none in another interface than the English one."""
    return glosses(language) if interface() == ENGLISH else {}


def fitting(meanings: str, sentence: str) -> str:
    """Return those of several meanings, "know/white", that an English sentence has; all of them where it has none."""
    words, senses = {*re.findall(r"\w+", sentence.lower())}, meanings.split("/")
    return "/".join([sense for sense in senses if words.intersection(sense.lower().split())] or senses)
