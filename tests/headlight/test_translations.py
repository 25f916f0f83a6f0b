"""Translations of texts: keys, named numbers and lists as in the English file beside them."""

import re
from pathlib import Path
from typing import Any

import pytest
from support.source_files import ROOT

from headlight import language
from headlight.app import finding
from headlight.lessons import words
from headlight.lessons.quiz_bank import fill
from transformer.untrusted import read_toml


def file_name(path: Path) -> str:
    """Return a file as tests name it: "lessons/shipped/quiz"."""
    return str(path.relative_to(ROOT / "headlight").with_suffix(""))


FILES = sorted(path for path in ROOT.glob("headlight/**/*.toml") if "node_modules" not in path.parts)
TRANSLATIONS = [path for path in FILES if "." in path.stem]
# Files of code or data without texts that are translated.
UNTRANSLATED = {"language", "app/languages", "app/parameters", "lessons/glosses"}
# Keys in tables of a list whose values are no text for readers.
CODE = {"page", "at", "answer", "show", "show_page", "sentences", "veil", "cover", "look"} | {
    "name", "idea", "level", "form", "taught", "fact", "misconception", "when"
}  # fmt: skip
NO_TEXT = re.compile(r"checkpoint|needs|sentences|misconceptions\.\w+\.source|style|.*\.(picture|field|values\..*)$")
NAMED = re.compile(r"\{(\w+)(?::((?:[^{}]|\{\w+\})*))?\}")
FORMATS = {*finding.FORMATS, *words.FORMATS} - {"capital", "count"}  # these two depend on the sentence
NUMBER_FORMAT = re.compile(r"[+,]?(\.\d+)?[a-z]?")
ENGLISH = [path for path in FILES if "." not in path.stem and file_name(path) not in UNTRANSLATED]
FOREIGN = {"de": r"[„‟«»]", "fr": r"[„«»]|\w'\w|\w [:;?!%](\s|$)"}  # marks that the app writes, or that are English


def texts_of(value: Any, path: str = "") -> dict[str, str]:
    """Return the texts of a file's content by their path, such as "step.0.words.truth.one"; `forms` are one text."""
    if isinstance(value, str):
        return {path: value}
    if isinstance(value, list):
        items = enumerate(value)
    elif isinstance(value, dict):
        in_list = re.search(r"\.\d+$", path)
        items = [(key, " ".join(each) if key == "forms" else each) for key, each in value.items()]
        items = [(key, each) for key, each in items if not (in_list and key in CODE)]
    else:
        return {}
    named: dict[str, str] = {}
    for key, each in items:
        named |= texts_of(each, f"{path}.{key}".lstrip("."))
    return {path: text for path, text in named.items() if not NO_TEXT.match(path)}


def named_numbers(text: str) -> set[tuple[str, str]]:
    """Return the {names} of a template with their formats, without the text between the items of a list."""
    named = {(name, spec.rpartition(":")[0] if ":" in spec else spec) for name, spec in NAMED.findall(text)}
    is_format = {spec: spec.split(" ")[0] in FORMATS or NUMBER_FORMAT.fullmatch(spec) for _, spec in named}
    return {(name, spec if is_format[spec] else "") for name, spec in named}


def lists_of(texts: dict[str, str]) -> dict[str, set[str]]:
    """Return the places in each list."""
    places: dict[str, set[str]] = {}
    for path in texts:
        for match in re.finditer(r"\.(\d+)(?=\.|$)", path):
            places.setdefault(path[: match.start()], set()).add(match[1])
    return places


def english_of(path: Path) -> Path:
    return path.with_name(f"{path.name.split('.')[0]}.toml")


@pytest.mark.parametrize("path", TRANSLATIONS, ids=file_name)
def test_a_translation_has_the_keys_numbers_and_lists_of_the_english_file(path):
    english, translation = (texts_of(read_toml(each)) for each in (english_of(path), path))
    name = path.name.split(".")[1]
    assert name in language.LANGUAGES and name != language.ENGLISH
    assert set(translation) <= set(english)
    for key, text in translation.items():
        assert text.strip() or not english[key], key
        assert named_numbers(text) == named_numbers(english[key]), key
        assert not re.search(FOREIGN[name], text), key
    expected = lists_of(english)
    assert {key: places for key, places in lists_of(translation).items() if places != expected[key]} == {}


@pytest.mark.parametrize("name", [name for name in language.LANGUAGES if name != language.ENGLISH])
@pytest.mark.parametrize("path", ENGLISH, ids=file_name)
def test_no_text_lacks_a_translation(path, name):
    translation = path.with_suffix(f".{name}.toml")
    assert translation.exists()
    written = {key for key, text in texts_of(read_toml(path)).items() if text}
    assert written - set(texts_of(read_toml(translation))) == set()


def test_the_quiz_writes_quotations_as_the_language_does(monkeypatch):
    monkeypatch.setattr(language, "_chosen", [lambda: "de"])
    assert fill("“{word}” 60 %", word="dog") == "„dog“ 60\u00a0%"
