"""The language of the code: first words of docstrings, names, and constants."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.source_files import ROOT, tree

# No docstring begins with a relative clause: a noun for a thing, a verb for a function.
FIRST_WORDS = {"what", "who", "whoever", "where", "whose", "whether", "how", "which"}
# Names say the type of a thing: payload, step, matches, question.
NAMES = {"told", "posed", "found", "asked", "kept", "said", "heard", "wanted", "own", "place", "given"}
KEYS = NAMES - {"place"}
CONSTANT = re.compile(r"^_?A_|[A-Z]_AN?_")  # FILES_PER_VISITOR, not FILES_A_VISITOR
ROOMS = ("transformer", "headlight", "pages", "benchmarks", "examples", "tests")
UNCHECKED = "headlight/components/node_modules/"


def faults(path: Path) -> Iterator[str]:
    """Yield the faults of a file, each with its line."""
    for node in ast.walk(tree(path)):
        line = getattr(node, "lineno", 1)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            word = re.split(r"\W", (ast.get_docstring(node) or "").lower(), maxsplit=1)[0]
            if word in FIRST_WORDS:
                yield f"{line}: docstring begins with {word}"
        match node:
            case (
                ast.ClassDef(name=name)
                | ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.arg(arg=name)
                | ast.Name(id=name, ctx=ast.Store())
                | ast.Attribute(attr=name, ctx=ast.Store())
            ) if (name if name.isupper() else name.lower()).strip("_") in NAMES or CONSTANT.search(name):
                yield f"{line}: {name}"
            case ast.Dict(keys=keys) if banned := KEYS & {key.value for key in keys if isinstance(key, ast.Constant)}:
                yield f"{line}: the key {', '.join(banned)}"
            case ast.Subscript(slice=ast.Constant(value=str(key)), ctx=ast.Store()) if key in KEYS:
                yield f"{line}: the key {key}"


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_is_written_in_plain_english(room):
    paths = {path.relative_to(ROOT).as_posix(): path for path in sorted((ROOT / room).rglob("*.py"))}
    checked = {name: list(faults(path)) for name, path in paths.items() if not name.startswith(UNCHECKED)}
    assert {name: each for name, each in checked.items() if each} == {}


def test_the_linter_of_javascript_knows_these_names_and_more():
    config = (ROOT / "headlight/components/eslint.config.js").read_text(encoding="utf-8")
    banned = set(re.search(r'"id-denylist": \["error", ([^]]*)\]', config)[1].replace('"', "").split(", "))
    assert banned == NAMES - {"found", "kept", "place", "given"} | {"made"}
