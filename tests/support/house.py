"""The files of the repository and what each imports."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

# Each room, and the rooms below it, from which alone it may import.
BELOW = {
    "transformer": set(),
    "plots": {"transformer"},
    "browser": set(),
    "session": {"transformer"},
    "ui": {"session", "browser", "plots", "transformer"},
    "views": {"ui", "session", "browser", "plots", "transformer"},
    "pages": {"views", "ui"},
    "app": {"ui"},
}

# The engine's packages, each of which may import those before it.
ENGINE = ("model", "data", "decoding", "exchange", "interpret", "training", "experiments", "toy", "commands")


def files(room: str) -> list[Path]:
    return sorted((ROOT / room).rglob("*.py")) or [ROOT / f"{room}.py"]


def all_files() -> list[Path]:
    return [path for room in (*BELOW, "benchmarks") for path in files(room)]


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def imports(path: Path, at_the_top: bool = False) -> Iterator[str]:
    """Every module that a file imports, wherever in it or outside its functions alone, by its full name."""
    package = path.relative_to(ROOT).parent.parts
    nodes: Iterable[ast.AST] = tree(path).body if at_the_top else ast.walk(tree(path))
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*above, *((node.module,) if node.module else ())))
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("__import__", "importlib.import_module"):
            yield ast.literal_eval(node.args[0]) if isinstance(node.args[0], ast.Constant) else "?"


def modules() -> dict[str, Path]:
    """Every module of ours by its full name; a package by its folder's."""
    named = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in all_files()}
    return {name.removesuffix(".__init__"): path for name, path in named.items()}
