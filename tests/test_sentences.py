"""Sentences that pages show are data: a room's Python has no more of them than its limit, others stand in texts.toml.

`python tests/test_sentences.py headlight/app` lists those of the files whose names begin so.
"""

import ast
import re
import sys
from collections.abc import Iterator

import pytest
from support.source_files import ROOT, dotted, tree

# Literals with three words or more, by room: names in addresses ("step by step"), headings of the command line, and
# words that are shown before the first import or for files in English.
LIMITS = {
    "headlight": 9,
    "headlight/app": 6,
    "headlight/classroom": 0,
    "headlight/components": 10,
    "headlight/lessons": 7,
    "headlight/plots": 1,
    "headlight/views": 10,
    "pages": 0,
}
# Their sentences say what is wrong with a file or a function, to whoever wrote it: they are errors.
OF_ERRORS = ("headlight/exercises.py", "headlight/lessons/file.py", "headlight/lessons/register.py")
# Other languages: of databases, of browsers, of formulas, of paths in pictures.
_SQL = r"SELECT|INSERT|DELETE|UPDATE|CREATE|DROP|ON CONFLICT|\{\} ORDER"
CODE = re.compile(rf"\s*({_SQL}|default-src|import |const |export |--)|.*\\|M\{{")
WORD = re.compile(r"(?<![\w.:/=&?<-])[A-Za-z]+['’]?[a-z]*(?=[\s.,:;!?)”]|$)")
MARKUP = re.compile(r"<[^>]*>|\{[^}]*\}")


def is_for_developers(node: ast.AST) -> bool:
    """Return whether the words in a node are no page's: docstrings, errors, logs, the command line."""
    match node:
        case ast.Raise() | ast.Assert() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Call(func=function):
            owner, _, name = dotted(function).rpartition(".")
            is_command = name in ("add_argument", "add_parser", "print", "ArgumentParser")
            return is_command or name.endswith("Error") or owner in ("log", "logger")
    return False


def literals(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the texts below a node, each with its line; a field of an f-string is {}."""
    match node:
        case _ if is_for_developers(node):
            return
        case ast.Constant(value=str(text)):
            yield node.lineno, text
        case ast.JoinedStr(values=parts):
            yield node.lineno, "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in parts)
            for part in parts:
                yield from literals(part.value) if isinstance(part, ast.FormattedValue) else ()
        case _:
            for child in ast.iter_child_nodes(node):
                yield from literals(child)


def sentences(room: str) -> list[str]:
    """Return the sentences of a room's files, each with its place: literals with three words or more besides markup."""
    depth = "*.py" if room == "headlight" else "**/*.py"
    paths = [path for path in sorted((ROOT / room).glob(depth)) if "node_modules" not in path.parts]
    paths = [path for path in paths if path.relative_to(ROOT).as_posix() not in OF_ERRORS]
    return [
        f"{path.relative_to(ROOT).as_posix()}:{line}: {text}"
        for path in paths
        for line, text in literals(tree(path))
        if len(WORD.findall(MARKUP.sub(" ", text))) >= 3 and not CODE.match(text)
    ]


@pytest.mark.parametrize("room", LIMITS)
def test_sentences_of_pages_are_data(room):
    assert len(sentences(room)) <= LIMITS[room], "\n".join(sentences(room))


if __name__ == "__main__":
    print("\n".join(each for room in LIMITS for each in sentences(room) if each.startswith(sys.argv[1])))
