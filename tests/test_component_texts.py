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
HTML = {
    folder.name: "".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.html")))
    for folder in sorted({path.parent for path in FOLDER.glob("*/*.html")})
    if folder.name not in {"live_page", "standalone_page"}  # whole pages, filled elsewhere
}
NAMED = re.compile(r"\{\{(\w+)\}\}")
EVERYWHERE_ALIKE = {*"ACEFHNPQR", "Quiz"}  # letters of keys, and a word that all languages share
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


@pytest.mark.parametrize("folder", HTML)
def test_every_name_in_html_has_a_text_and_every_text_a_place(folder):
    named, ours = set(NAMED.findall(HTML[folder])), MARKUP.get(folder, {})
    assert named <= {*ours, *MARKUP["lib"]}
    assert set(ours) <= (set(NAMED.findall("".join(HTML.values()))) if folder == "lib" else named)
    assert folder == "lib" or not set(ours) & set(MARKUP["lib"]), "a text of lib under the same name"
    attributes = {name for name, value in re.findall(r'([\w-]+)="([^"]*)"', HTML[folder]) if "{{" in value}
    assert attributes <= {"aria-label", "data-none", "title"}, "a value that code reads"


@pytest.mark.parametrize("folder", HTML)
def test_no_word_stands_in_html(folder):
    html = re.sub(r"<!--.*?-->", "", NAMED.sub("", HTML[folder]))
    shown = re.findall(r"(?:>|(?:aria-label|data-none|placeholder|title)=\")([^<\"]+)", html)
    assert {word for text in shown for word in re.findall(r"[A-Za-z]+", text)} <= EVERYWHERE_ALIKE


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
