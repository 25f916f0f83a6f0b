"""The rules of the house: who may know whom, and what the engine is made of."""

import ast
import graphlib
import importlib
import re
from functools import cache
from pathlib import Path

import pytest
from support.source_files import BELOW, ENGINE, ROOT, all_files, dotted, files, imports, modules, package_of, tree

MAXIMUM_LINES = 500
CODE = {".py", ".js", ".css", ".html", ".wat"}
BUDGETS = {  # lines of code per room
    "transformer/commands": 850,
    "transformer/corpus": 2770,
    "transformer/data": 1200,
    "transformer/decoding": 650,
    "transformer/exchange": 1390,
    "transformer/experiments": 250,
    "transformer/interpret": 5110,
    "transformer/model": 1540,
    "transformer/toy": 670,
    "transformer/training": 1380,
    "headlight/app": 3170,
    "headlight/classroom": 1820,
    "headlight/components": 16170,
    "headlight/lessons": 5770,
    "headlight/plots": 2360,
    "headlight/views": 6330,
    "pages": 90,
    "benchmarks": 2150,
    "tests": 44550,
}

# What is installed and yet may not be imported in a room.
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
    """Every dotted name that a file uses, and every name it imports."""
    nodes = list(ast.walk(tree(path)))
    used = {dotted(node) for node in nodes if isinstance(node, ast.Attribute | ast.Name)}
    return used | {alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}


def test_the_engine_is_where_this_test_looks_for_it():
    assert len(files("transformer")) > 20


@pytest.mark.parametrize("package", BELOW)
def test_imports_point_downward_only(package):
    allowed = {package} | BELOW[package]
    for path in files(package):
        found = set(imports(path)) - {
            "transformer",
            "transformer.open_door",
        }  # what opens a package's door is nothing of it
        upward = {package_of(name) for name in found} - allowed - {""}
        forbidden = {name.split(".")[0] for name in found} & FORBIDDEN.get(package, set())
        assert not upward | forbidden, f"{path.relative_to(ROOT)} imports {', '.join(upward | forbidden)}"


def test_no_module_is_looked_up_by_a_text_and_no_path_is_added():
    for path in [*all_files(), *sorted((ROOT / "tests").rglob("*.py"))]:
        assert "sys.path" not in names(path), path
    for path in (path for package in BELOW for path in files(package)):
        assert not {"pkgutil.resolve_name", "resolve_name"} & names(path), path
        doors = path == ROOT / "transformer" / "__init__.py"  # imports the names that a stub lists
        assert doors or "?" not in imports(path), f"{path} imports what is computed"


def test_no_modules_import_one_another_in_a_circle():
    ours = modules()
    # A package's own name stands for what its __init__ imports, not for all that is in it.
    graph = {name: {found for found in imports(path) if found in ours and found != name} for name, path in ours.items()}
    assert graph["headlight.app.bar"], "the search finds what the session surely imports"
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError with the circle


def test_what_is_imported_is_there():
    """In the benchmarks too, which no test runs."""
    ours = modules()
    for path in [*all_files(), *sorted((ROOT / "tests").rglob("*.py"))]:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ImportFrom) and not node.level and package_of(node.module or ""):
                assert node.module in ours, f"{path.relative_to(ROOT)} imports {node.module}"


def test_the_engines_packages_stand_one_upon_another():
    found = {path.parent.name for path in (ROOT / "transformer").glob("*/__init__.py")}
    assert found == set(ENGINE), "every package has its place"
    for place, package in enumerate(ENGINE):
        for path in files(f"transformer/{package}"):
            named = {name.split(".")[1] for name in imports(path) if name.startswith("transformer.")}
            upward = named & set(ENGINE[place + 1 :])
            assert not upward, f"{path.relative_to(ROOT)} imports {', '.join(upward)}"


@pytest.mark.parametrize("room", DOORS)
def test_a_room_with_a_door_is_entered_by_no_other_way(room):
    stub = (ROOT / room.replace(".", "/") / "__init__.pyi").read_text(encoding="utf-8")
    offered = {alias.name for node in ast.parse(stub).body for alias in node.names}
    for path in all_files():
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if not name.startswith(f"{room}."):
            used = {found.removeprefix(f"{room}.") for found in imports(path) if found.startswith(f"{room}.")}
            assert used <= offered, f"{name} imports {used - offered} of {room}"


def test_every_name_of_a_door_is_there():
    for package in (*DOORS, "headlight", "headlight.plots", "transformer"):
        module = importlib.import_module(package)
        assert [name for name in module.__all__ if getattr(module, name, None) is None] == []


def test_what_is_drawn_and_said_is_to_be_had_without_a_page():
    pure = [path for path in files("headlight.views") if path.stem.split("_")[-1] in PURE]
    assert len(pure) > 10
    for path in pure:
        assert not {"streamlit", "torch"} & {name.split(".")[0] for name in imports(path)}, path.relative_to(ROOT)


def test_no_two_files_of_tests_have_one_name():
    """pytest collects one of them alone, for the folders of tests are no packages."""
    found = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert len(found) > 100 and not {name for name in found if found.count(name) > 1}


def test_no_room_holds_more_than_can_be_overlooked():
    entries = [
        path
        for path in (ROOT / "transformer").iterdir()
        if path.stem != "__init__" and path.name not in ("__pycache__", "py.typed")
    ]
    assert len(entries) <= 19, sorted(path.name for path in entries)


@pytest.mark.parametrize("path", files("pages"), ids=lambda path: path.stem)
def test_a_page_is_an_address_and_no_more(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 10


def test_no_style_asks_a_whole_page_what_it_holds():
    """Each change of the page, and each label that Plotly measures, then computes the style of all of it anew."""
    for style in (ROOT / "headlight" / "app").glob("*.css"):
        asked = re.findall(r"(?:stMain|stApp|:root|\bbody|\bhtml)[^\s,{]*:has\(", style.read_text("utf-8"))
        assert not asked, f"{style.name}: {asked}"


def test_the_style_of_all_pages_asks_nothing_for_which_a_browser_looks_again_at_whole_parts_of_them():
    """`:has()` is asked anew at all that Plotly draws; a part of a class's name, at each change of any class.

    Then whatever may be named behind it gets its style anew: everything, where no class or element is.
    """
    style = re.sub(r"/\*.*?\*/", "", (ROOT / "headlight" / "app" / "page.css").read_text("utf-8"), flags=re.DOTALL)
    assert ":has(" not in style
    assert re.search(r"\[class[*^$]", style), "the search finds what the style surely has"
    assert not re.findall(r"\[class[*^$][^\]]*\]\s*[>\s]\s*(?:\*|:(?!is\())[^,{]*", style)


def test_the_engine_is_made_from_scratch():
    for path in files("transformer"):
        for name in names(path):
            ready_made = name.split(".")[-1]
            assert not ready_made.startswith(("TransformerEncoder", "TransformerDecoder", "MultiheadAttention")), (
                f"{path.name} uses {name}"
            )
            assert name not in ("nn.Transformer", "torch.nn.Transformer"), f"{path.name} uses {name}"


def test_the_engine_reads_and_writes_no_pickle_but_the_weights_of_a_model_that_is_imported():
    pickles = {"torch.load", "torch.save", "pickle", "joblib", "np.load", "numpy.load"}
    for path in files("transformer"):
        text = path.read_text(encoding="utf-8")
        allowed = {"torch.load"} if path.parent.name == "exchange" and path.name == "layout.py" else set()
        assert not (pickles & names(path)) - allowed, path.name
        assert text.count("torch.load(") == text.count("weights_only=True"), path.name
        assert "allow_pickle" not in text, path.name


def test_only_the_command_line_prints():
    for path in files("transformer"):
        if path.name != "__main__.py" and path.parent.name != "commands":
            assert "print" not in names(path), f"{path.name} prints; use logging"


def test_no_module_is_called_utils():
    assert not [path for path in all_files() if path.stem in ("utils", "helpers", "misc", "common")]


@pytest.mark.parametrize("room", BUDGETS)
def test_a_room_keeps_to_its_budget_of_lines(room):
    """A commit that raises a budget says in its message what users get for it."""
    paths = [path for path in (ROOT / room).rglob("*") if path.suffix in CODE and "node_modules" not in path.parts]
    assert paths, f"{room} has no code"
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)
    assert lines <= BUDGETS[room], f"{room} has {lines} lines"


def test_every_room_has_a_budget():
    rooms = {path.name for path in (ROOT / "headlight").iterdir() if (path / "__init__.py").exists()}
    rooms |= {path.name for path in (ROOT / "transformer").iterdir() if (path / "__init__.py").exists()}
    assert rooms == {room.split("/")[1] for room in BUDGETS if "/" in room}


def test_no_file_grows_too_long():
    long = {str(path): len(path.read_text(encoding="utf-8").splitlines()) for path in all_files()}
    assert not {name: lines for name, lines in long.items() if lines > MAXIMUM_LINES}


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
