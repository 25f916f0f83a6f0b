"""English in Python: sentences that pages show stand in texts.toml, not in the code."""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from support.source_files import ROOT, tree

LIMITS = {}
WORD = re.compile(r"(?<![\w.:/=&?<-])[A-Za-z]+['’]?[a-z]*(?=[\s.,:;!?)”]|$)")
MARKUP = re.compile(r"<[^>]*>|\{[^}]*\}")
# Calls with words for developers: errors, logs, the command line.
UNSHOWN_CALLS = {"add_argument", "add_parser", "ArgumentParser", "error", "warning", "info", "debug", "exception"}
LOGS = {"logger", "_LOG", "logging", "log"}


def is_unshown(node: ast.AST) -> bool:
    """Return whether what stands in a node is for developers: docstrings, errors, logs, the command line."""
    if isinstance(node, ast.Raise | ast.Assert):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    match node:
        case ast.Call(func=ast.Attribute(attr="add_argument" | "add_parser")):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name))) if name.strip("_").lower() in ("log", "logger"):
            return True
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name.endswith(("Error", "Exception", "ArgumentParser")) or name == "print"
    return False


def sentences(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the literals with at least three words below a node, each with its line."""
    if is_unshown(node):
        return
    match node:
        case ast.Constant(value=str(text)):
            yield node.lineno, text
        case ast.JoinedStr(values=parts):
            yield node.lineno, "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in parts)
            for part in parts:
                if isinstance(part, ast.FormattedValue):
                    yield from sentences(part.value)
        case _:
            for child in ast.iter_child_nodes(node):
                yield from sentences(child)


def shown(path: Path) -> list[tuple[int, str]]:
    """Return the sentences of a file: literals with at least three words besides markup."""
    return [each for each in sentences(tree(path)) if len(WORD.findall(MARKUP.sub(" ", each[1]))) >= 3]


def rooms() -> dict[str, dict[str, list[tuple[int, str]]]]:
    """Return the sentences by room and file."""
    sentences_of = defaultdict(dict)
    for folder in ("headlight", "pages"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if "node_modules" not in name:
                room = "/".join(name.split("/")[: 3 if "views" in name else 2][: name.count("/")])
                sentences_of[room][name] = shown(path)
    return sentences_of


if __name__ == "__main__":
    for room, files in rooms().items():
        print(room, sum(map(len, files.values())))
        for name, lines in files.items():
            for line, text in lines:
                if len(sys.argv) > 1 and name.startswith(sys.argv[1]):
                    print(f"   {name}:{line}: {text!r}"[:200])
