"""Rules of the code base: imports, doors, sizes, styles, and the parts of the engine."""

import ast
import graphlib
import importlib
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
from support.source_files import BELOW, ENGINE, ROOT, all_files, dotted, files, imports, modules, package_of, tree

MAXIMUM_LINES = 500
CODE = {".py", ".js", ".css", ".html", ".wat"}
# Lines that the whole product may have, and those of each room when its budget was set: a room may grow by SLACK. A
# commit that raises a number says in its body what users get for it.
TOTALS = {"Python": 40_700, "JavaScript": 14_650, "tests": 29_000}
SLACK = 0.03
ROOMS = {
    "transformer/commands": 850,
    "transformer/corpus": 2537,
    "transformer/data": 1191,
    "transformer/decoding": 683,
    "transformer/exchange": 1355,
    "transformer/experiments": 248,
    "transformer/interpret": 5793,
    "transformer/model": 1695,
    "transformer/toy": 627,
    "transformer/training": 1326,
    "headlight/app": 2847,
    "headlight/classroom": 2104,
    "headlight/components": 17213,
    "headlight/lessons": 6074,
    "headlight/plots": 2322,
    "headlight/views": 5730,
    "pages": 82,
    "benchmarks": 2042,
}

# Packages that a room may not import although they are installed.
FORBIDDEN = {
    "transformer": {"streamlit", "plotly", "pickle"},
    "headlight.plots": {"streamlit", "torch"},
    "headlight.components": {"torch", "plotly"},
    "headlight.classroom": {"torch", "plotly", "pandas", "numpy"},  # the server reads it when it starts
    "headlight.app": {"torch"},
    "headlight.views": {"torch"},
    "headlight.lessons": {"torch"},
    "pages": {"torch", "plotly", "numpy"},
}
# Rooms of which others import no module, only the names in their `__init__.pyi`.
DOORS = (
    "headlight.classroom",
    "headlight.lessons",
    "headlight.views.live",
    "transformer.corpus",
    "transformer.exchange",
    "transformer.training",
)
# Files of figures, texts and payloads: functions from numbers to what is shown, to be had without a page.
PURE = ("content", "figure", "figures", "text", "payload", "html", "findings")


@cache
def names(path: Path) -> set[str]:
    """Return every dotted name that a file uses, and every name that it imports."""
    nodes = list(ast.walk(tree(path)))
    used = {dotted(node) for node in nodes if isinstance(node, ast.Attribute | ast.Name)}
    return used | {alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}


@pytest.mark.parametrize("package", BELOW)
def test_imports_point_downward_only(package):
    allowed = {package, ""} | BELOW[package]
    for path in files(package):
        # The function that opens the door of a package belongs to no room.
        imported = set(imports(path)) - {"transformer", "transformer.open_door"}
        upward = {package_of(name) for name in imported} - allowed
        forbidden = {name.split(".")[0] for name in imported} & FORBIDDEN.get(package, set())
        assert not upward | forbidden, f"{path.relative_to(ROOT)} imports {', '.join(upward | forbidden)}"


def test_packages_of_the_engine_import_only_those_before_them():
    assert {path.parent.name for path in (ROOT / "transformer").glob("*/__init__.py")} == set(ENGINE)
    for number, package in enumerate(ENGINE):
        for path in files(f"transformer/{package}"):
            imported = {name.split(".")[1] for name in imports(path) if name.startswith("transformer.")}
            upward = imported & set(ENGINE[number + 1 :])
            assert not upward, f"{path.relative_to(ROOT)} imports {', '.join(upward)}"


def test_imports_are_written_out_and_exist():
    """Also in the benchmarks, which no test runs."""
    ours = modules()
    for path in [*all_files(), *sorted((ROOT / "tests").rglob("*.py"))]:
        assert not {"sys.path", "pkgutil.resolve_name", "resolve_name"} & names(path), path
        is_door = path == ROOT / "transformer" / "__init__.py"  # imports the names of a stub
        assert is_door or path.parts[len(ROOT.parts)] in ("tests", "benchmarks") or "?" not in imports(path), (
            f"{path} imports a computed name"
        )
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ImportFrom) and not node.level and package_of(node.module or ""):
                assert node.module in ours, f"{path.relative_to(ROOT)} imports {node.module}"


def types_alone(path: Path) -> tuple[str, ...]:
    """Return the modules that a file imports for its annotations."""
    blocks = [each for each in tree(path).body if isinstance(each, ast.If) and dotted(each.test) == "TYPE_CHECKING"]
    return tuple(f".{node.module}" for block in blocks for node in block.body if isinstance(node, ast.ImportFrom))


def test_modules_import_each_other_in_no_circle():
    ours = modules()
    # A package's own name stands for the imports of its __init__, not for all its modules.
    graph = {
        name: {each for each in imports(path) if each in ours and each != name and not each.endswith(types_alone(path))}
        for name, path in ours.items()
    }
    assert graph["headlight.app.bar"]
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError with the circle


@pytest.mark.parametrize("room", DOORS)
def test_a_room_with_a_door_is_entered_by_no_other_way(room):
    stub = (ROOT / room.replace(".", "/") / "__init__.pyi").read_text(encoding="utf-8")
    offered = {alias.name for node in ast.parse(stub).body for alias in node.names}
    for path in all_files():
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if not name.startswith(f"{room}."):
            used = {each.removeprefix(f"{room}.") for each in imports(path) if each.startswith(f"{room}.")}
            assert used <= offered, f"{name} imports {used - offered} of {room}"


@pytest.mark.parametrize("package", [*DOORS, "headlight", "headlight.plots", "transformer"])
def test_every_name_of_a_door_exists(package):
    module = importlib.import_module(package)
    assert [name for name in module.__all__ if getattr(module, name, None) is None] == []


def test_texts_and_figures_can_be_made_without_a_page():
    pure = [path for path in files("headlight.views") if path.stem.split("_")[-1] in PURE]
    assert len(pure) > 10
    for path in pure:
        assert not {"streamlit", "torch"} & {name.split(".")[0] for name in imports(path)}, path.relative_to(ROOT)


def test_names_of_files():
    """pytest collects one of two test files of one name: folders of tests are no packages."""
    tests = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert len(tests) == len(set(tests)) > 100
    assert not [path for path in all_files() if path.stem in ("utils", "helpers", "misc", "common")]


def test_styles_are_cheap_for_the_browser():
    """Plotly changes classes all the time: `:has()`, or anything after a part of a class name, costs a whole page."""
    for style in (ROOT / "headlight" / "app").glob("*.css"):
        text = re.sub(r"/\*.*?\*/", "", style.read_text("utf-8"), flags=re.DOTALL)
        assert not re.findall(r"(?:stMain|stApp|:root|\bbody|\bhtml)[^\s,{]*:has\(", text), style.name
        if style.name == "page.css":
            assert ":has(" not in text and re.search(r"\[class[*^$]", text)
            assert not re.findall(r"\[class[*^$][^\]]*\]\s*[>\s]\s*(?:\*|:(?!is\())[^,{]*", text)


def test_the_engine_is_made_from_scratch():
    ready_made = ("TransformerEncoder", "TransformerDecoder", "MultiheadAttention")
    for path in files("transformer"):
        for name in names(path):
            assert not name.split(".")[-1].startswith(ready_made), f"{path.name} uses {name}"
            assert name not in ("nn.Transformer", "torch.nn.Transformer"), f"{path.name} uses {name}"


def test_the_engine_reads_no_pickles_but_weights_of_imported_models():
    pickles = {"torch.load", "torch.save", "pickle", "joblib", "np.load", "numpy.load"}
    for path in files("transformer"):
        text = path.read_text(encoding="utf-8")
        allowed = {"torch.load"} if path.parent.name == "exchange" and path.name == "layout.py" else set()
        assert not (pickles & names(path)) - allowed, path.name
        assert text.count("torch.load(") == text.count("weights_only=True"), path.name
        assert text.count("allow_pickle") == text.count("allow_pickle=False"), path.name


def test_the_engine_prints_only_in_commands_and_documents_its_public_names():
    for path in files("transformer"):
        if path.name != "__main__.py" and path.parent.name != "commands":
            assert "print" not in names(path), f"{path.name} prints; use logging"
        assert ast.get_docstring(tree(path)), path.name
        for node in tree(path).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name != "main":
                assert node.name.startswith("_") or ast.get_docstring(node), f"{path.name}: {node.name}"


def lines_of(folders: Iterable[str], endings: set[str]) -> int:
    """Count lines of files in folders, and of the folders that are files."""
    paths = [path for name in folders for path in (ROOT / name, *(ROOT / name).rglob("*")) if path.suffix in endings]
    assert paths, folders
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths if "node_modules" not in path.parts)


def test_the_product_keeps_to_its_total_of_lines():
    product = "transformer", "headlight", "pages", "benchmarks", "examples"
    lines = {
        "Python": lines_of((*product, "app.py"), {".py"}),
        "JavaScript": lines_of(product, {".js"}),
        "tests": lines_of(("tests",), {".py", ".js"}),
    }
    assert {name: count for name, count in lines.items() if count > TOTALS[name]} == {}


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_keeps_to_its_lines_and_its_slack(room):
    assert lines_of((room,), CODE) <= (1 + SLACK) * ROOMS[room]


def test_every_room_has_a_budget():
    rooms = {path.name for path in (ROOT / "headlight").iterdir() if (path / "__init__.py").exists()}
    rooms |= {path.name for path in (ROOT / "transformer").iterdir() if (path / "__init__.py").exists()}
    assert rooms == {room.split("/")[1] for room in ROOMS if "/" in room}


def test_no_file_or_folder_grows_too_long():
    pages = files("pages")
    for path in all_files():
        most = 10 if path in pages else MAXIMUM_LINES
        assert len(path.read_text(encoding="utf-8").splitlines()) <= most, path
    entries = {path.name for path in (ROOT / "transformer").iterdir()} - {"__pycache__", "py.typed"}
    assert len([name for name in entries if not name.startswith("__init__")]) <= 19
