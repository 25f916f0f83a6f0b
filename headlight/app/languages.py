"""Guess of a text's language by its function words."""

import re
import tomllib
from pathlib import Path

_DATA = tomllib.loads(Path(__file__).with_name("languages.toml").read_text(encoding="utf-8"))
FUNCTION_WORDS: dict[str, list[str]] = {language: words.split() for language, words in _DATA["words"].items()}
_WORDS = {language: frozenset(words) for language, words in FUNCTION_WORDS.items()}
_WORD = re.compile(r"[^\W\d_]+'?")
_FEW, _SHORT = 2, 3  # words of another language that suffice; words of a text in which one suffices


def language_name(name: str) -> str:
    """Return the English name of a language that a checkpoint names by its code."""
    return _DATA["codes"].get(name, name)


def other_language(text: str, language: str) -> str | None:
    """Return the language that a text seems to be written in if it is not `language`, else None.

    Words that both languages share decide nothing; names, single words and unknown languages are nobody's.
    """
    expected = _WORDS.get(language := language_name(language))
    if expected is None:
        return None
    words = set(_WORD.findall(text.lower().replace("’", "'")))
    foreign = {other: len(words & (known - expected)) for other, known in _WORDS.items() if other != language}
    familiar = {other: len(words & (expected - _WORDS[other])) for other in foreign}
    guess = max(foreign, key=lambda other: foreign[other] - familiar[other])
    enough = foreign[guess] >= (1 if len(words) >= _SHORT else _FEW)
    return guess if enough and foreign[guess] > 2 * familiar[guess] else None
