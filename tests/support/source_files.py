"""The files of the repository and the imports of each."""

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]

# Each package, and those below it, from which alone it may import.
BELOW = {
    "transformer": set(),
    "headlight.language": {"transformer"},
    "headlight.components": {"headlight.language"},
    "headlight.plots": {"headlight.language", "transformer"},
    "headlight.app": {"headlight.language", "headlight.components", "headlight.plots", "transformer"},
    "headlight.classroom": {"headlight.language", "headlight.app"},
    "headlight.views": {
        "headlight.language",
        "headlight.app",
        "headlight.components",
        "headlight.plots",
        "transformer",
    },
    "headlight.lessons": {
        "headlight.language",
        "headlight.classroom",
        "headlight.views",
        "headlight.app",
        "headlight.components",
        "headlight.plots",
        "transformer",
    },
    "headlight": {
        "headlight.language",
        "headlight.classroom",
        "headlight.lessons",
        "headlight.views",
        "headlight.app",
        "headlight.components",
        "headlight.plots",
        "transformer",
    },
    "pages": {"headlight.lessons", "headlight.views", "headlight.app"},
    "app": {"headlight.classroom", "headlight.lessons", "headlight.app", "headlight.components"},
}

# The engine's packages, each of which may import those before it.
ENGINE = ("model", "data", "decoding", "exchange", "interpret", "corpus", "training", "experiments", "toy", "commands")


def files(package: str) -> list[Path]:
    """Return a package's files; of `headlight` those that are in none of its packages."""
    folder = ROOT / package.replace(".", "/")
    if package == "headlight":
        return sorted(folder.glob("*.py"))
    return sorted(folder.rglob("*.py")) or [folder.with_suffix(".py")]


def all_files() -> list[Path]:
    return [path for package in (*BELOW, "benchmarks") for path in files(package)]


def package_of(name: str) -> str:
    """Return the package of `BELOW` that a module belongs to, or an empty text."""
    return max((each for each in BELOW if f"{name}.".startswith(f"{each}.")), key=len, default="")


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def dotted(node: ast.AST) -> str:
    """Return the name that an expression is, such as "np.load"; of another's attribute only what follows it."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


@cache
def imports(path: Path, at_the_top: bool = False) -> tuple[str, ...]:
    """Return every module that a file imports, wherever in it or outside its functions alone, by its full name."""
    package = path.relative_to(ROOT).parent.parts
    nodes: Iterable[ast.AST] = tree(path).body if at_the_top else ast.walk(tree(path))
    names = []
    for node in nodes:
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*above, *((node.module,) if node.module else ())))
            names += [module, *(f"{module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Call) and dotted(node.func) in ("__import__", "importlib.import_module"):
            names.append(ast.literal_eval(node.args[0]) if isinstance(node.args[0], ast.Constant) else "?")
    return tuple(dict.fromkeys(names))


def modules() -> dict[str, Path]:
    """Every module of ours by its full name; a package by its folder's."""
    named = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in all_files()}
    return {name.removesuffix(".__init__"): path for name, path in named.items()}
