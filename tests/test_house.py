"""The rules of the house: who may know whom, and what the engine is made of."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAXIMUM_LINES = 260

# folder -> what it may not import
FORBIDDEN = {
    "transformer": {"streamlit", "plotly", "figures", "session", "pages", "app", "components", "pickle"},
    "figures": {"streamlit", "torch", "session", "pages", "app"},
    "pages": {"torch", "plotly"},
    "browser": {"torch", "plotly", "transformer", "figures", "session", "pages", "app", "components"},
}


def files(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def all_files() -> list[Path]:
    folders = ("transformer", "figures", "pages", "components", "browser", "benchmarks")
    return [path for folder in folders for path in files(folder)] + sorted(ROOT.glob("*.py"))


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def imports(path: Path) -> Iterator[str]:
    """Every module that a file imports, wherever in it, by its full name."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("__import__", "importlib.import_module"):
            yield ast.literal_eval(node.args[0]) if isinstance(node.args[0], ast.Constant) else "?"


def names(path: Path) -> set[str]:
    """Every dotted name that a file uses, and every name it imports."""
    used = {ast.unparse(node) for node in ast.walk(tree(path)) if isinstance(node, ast.Attribute | ast.Name)}
    imported = {
        alias.name for node in ast.walk(tree(path)) if isinstance(node, ast.ImportFrom) for alias in node.names
    }  # fmt: skip
    return used | imported


def test_the_engine_is_where_this_test_looks_for_it():
    assert len(files("transformer")) > 20


@pytest.mark.parametrize("folder", FORBIDDEN)
def test_an_arrow_points_downward_only(folder):
    for path in files(folder):
        upward = {name for name in imports(path) if name.split(".")[0] in FORBIDDEN[folder]}
        assert not upward, f"{path.relative_to(ROOT)} imports {', '.join(upward)}"


def test_the_engine_is_made_from_scratch():
    for path in files("transformer"):
        for name in names(path):
            ready_made = name.split(".")[-1]
            assert not ready_made.startswith(("TransformerEncoder", "TransformerDecoder", "MultiheadAttention")), (
                f"{path.name} uses {name}"
            )
            assert name not in ("nn.Transformer", "torch.nn.Transformer"), f"{path.name} uses {name}"


def test_the_engine_reads_and_writes_no_pickle():
    for path in files("transformer"):
        assert not {"torch.load", "torch.save", "pickle", "joblib", "np.load", "numpy.load"} & names(path), path.name
        assert "allow_pickle" not in path.read_text(encoding="utf-8"), path.name


def test_only_the_command_line_prints():
    for path in files("transformer"):
        if path.name != "__main__.py":
            assert "print" not in names(path), f"{path.name} prints; use logging"


def test_no_module_is_called_utils():
    assert not [path for path in all_files() if path.stem in ("utils", "helpers", "misc", "common")]


def test_no_file_grows_too_long():
    long = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in all_files()}
    assert not {name: lines for name, lines in long.items() if lines >= MAXIMUM_LINES}


def test_every_module_and_public_name_of_the_engine_says_what_it_is():
    for path in files("transformer"):
        module = tree(path)
        assert ast.get_docstring(module), path.name
        for node in module.body:
            if (
                isinstance(node, ast.FunctionDef | ast.ClassDef)
                and not node.name.startswith("_")
                and node.name != "main"
            ):
                assert ast.get_docstring(node), f"{path.name}: {node.name}"
