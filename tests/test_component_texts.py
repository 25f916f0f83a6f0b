"""Texts of the components: every call names a template and its values, and no sentence stands in JavaScript."""

import re
import tomllib
from string import Formatter

import pytest
from support.javascript import calls, split, strings, text_of

from headlight.components.bundle import FOLDER

MODULES = sorted(path for path in FOLDER.glob("*/*.js") if path.parent.name != "node_modules")
FILES = sorted(FOLDER.glob("*/texts.toml"))
TABLES = {
    (path.parent.name, module): table
    for path in FILES
    for module, table in tomllib.loads(path.read_text(encoding="utf-8")).items()
}
MARKUP = {folder: TABLES.pop((folder, "markup")) for folder, module in list(TABLES) if module == "markup"}
FORMATS = r"|,|number( \d)?|\.\df|percent|probability|signed( \d)?|token"


def names_of(argument: str, table: dict) -> set[str]:
    """Return the templates that the first argument of a call may name; of a variable all."""
    literals = [part for part in split(argument, separators="?:") if part[0] in '"`'] or ["`${name}`"]
    patterns = [text_of(literal, r"\w+") for literal in literals]
    return set().union(*({name for name in table if re.fullmatch(each, name)} or {each} for each in patterns))


def values_of(arguments: list[str]) -> set[str] | None:
    """Return the names of the values that a call passes; None where they are not written there."""
    if len(arguments) < 2:
        return set()
    values = arguments[1]
    if not values.startswith("{") or "..." in values:
        return None
    return {part.split(":")[0].strip() for part in split(values, 1)}


@pytest.mark.parametrize("module", TABLES, ids="/".join)
def test_every_call_names_a_template_and_passes_its_values(module):
    table = TABLES[module]
    source = (FOLDER / module[0] / f"{module[1]}.js").read_text(encoding="utf-8")
    used = set()
    for arguments in calls(source, "say"):
        names, values = names_of(arguments[0], table), values_of(arguments)
        assert names <= set(table), f"no template {names - set(table)}"
        used |= names
        for name in names if values is not None else ():
            assert fields_of(table[name]) <= values, f"{name} lacks {fields_of(table[name]) - values}"
    assert used == set(table), "templates that no call names"


@pytest.mark.parametrize("folder", MARKUP)
def test_every_text_of_markup_stands_in_the_html_of_its_folder(folder):
    html = "".join(path.read_text(encoding="utf-8") for path in sorted((FOLDER / folder).glob("*.html")))
    assert set(re.findall(r"\{\{(\w+)\}\}", html)) == set(MARKUP[folder])
    attributes = {name for name, value in re.findall(r'([\w-]+)="([^"]*)"', html) if "{{" in value}
    assert attributes <= {"aria-label", "title"}, "a value that code reads"


def fields_of(template: str | dict) -> set[str]:
    """Return the names of the values of a template, and of the number that chooses a plural form."""
    if isinstance(template, dict):
        assert set(template) == {"one", "other"}
        return {"count"}.union(*map(fields_of, template.values()))
    fields = [(name, spec) for _, name, spec, _ in Formatter().parse(template) if name is not None]
    assert all(re.fullmatch(FORMATS, spec) or not spec.strip(" ,;:·andor") for _, spec in fields), template
    return {name for name, _ in fields}


# Names of two patterns, of a view (twice) and of a symbol, a list of selectors, and "not a number".
MOST_SENTENCES = 7


def test_sentences_stand_in_texts_not_in_javascript():
    modules = [path for path in MODULES if path.parent.name != "engine"]  # its texts are messages of errors
    left = [f"{path}: {text}" for path in modules for text in sentences(path.read_text(encoding="utf-8"))]
    assert len(left) <= MOST_SENTENCES, "\n".join(left)


def sentences(source: str) -> list[str]:
    """Return the strings of at least three English words; not messages of errors, selectors, HTML and patterns."""
    return [
        text
        for at, text in strings(source)
        if len(re.findall(r"(?<![\w-])(?:[A-Za-z][a-z'’]+|a)(?![\w-])", text_of(text, "1"))) >= 3
        and not re.search(r"[<\[{\\\"]|\.[a-z]|\w[/(+]\w", text_of(text, "1"))
        and not source[:at].rstrip().endswith(("Error(", "console.error("))
    ]


def test_a_sentence_in_javascript_is_found():
    source = 'const a = /["]/.test(b) && "It is here"; // "nor is this one"\nthrow new Error("this is an error");\n'
    assert sentences(source + "c(`${say(`x`)} looks at ${d}: it`, 'two words');\n") == [
        '"It is here"',
        "`${say(`x`)} looks at ${d}: it`",
    ]
