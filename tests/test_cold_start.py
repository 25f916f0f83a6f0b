"""Imports at start: a first visit reads what its page needs, and the server less."""

import os
import subprocess
import sys

import pytest
from support.pages import ROOT
from support.source_files import files, imports, modules

from headlight.app import main

HEAVY = ("tensorboard", "torch.utils.tensorboard", "torch._dynamo", "torch.utils.flop_counter")
TRAINING = {f"transformer.training.{name}" for name in ("trainer", "updates", "loader", "monitoring", "state")}
CORPUS = {f"transformer.corpus.{name}" for name in ("executors", "measure", "atlas.drawing", "alignment.measure")}
MODULES_OF_HOME, LINES_OF_HOME = 125, 17_900
COMMANDS_ONLY = TRAINING | CORPUS | {"transformer.model.distributed"}


def run(code: str) -> list[str]:
    """Return the words that this code prints in a new process."""
    variables = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=True).stdout.split()


def imported_by(code: str) -> set[str]:
    return set(run(f"{code}\nimport sys; print(*sys.modules)"))


def of_packages(seen: set[str], *packages: str) -> list[str]:
    return [name for name in seen if f"{name}.".startswith(tuple(f"{package}." for package in packages))]


def test_no_view_imports_what_trains_models_or_measures_corpora():
    views = [name for name in modules() if name.startswith("headlight.views.")]
    assert len(views) > 20 and modules().keys() >= COMMANDS_ONLY
    seen = imported_by(f"import headlight.app.main, headlight.lessons.page, {', '.join(views)}")
    assert {"transformer.translator", "transformer.training.replay", "transformer.corpus.atlas.atlas"} <= seen
    assert sorted(seen & COMMANDS_ONLY) == []


@pytest.mark.parametrize(
    ("code", "needed", "excluded"),
    [
        (
            "import headlight.app.bar, headlight.views.attention.page",
            "headlight.views.attention.explorer",
            (
                *("headlight.lessons", "headlight.classroom", "headlight.views.live", "headlight.views.what_if"),
                "transformer.training",
            ),
        ),
        (
            "from headlight.lessons import visit; assert len(visit.lessons()[0]) > 1",
            "headlight.lessons.visit",
            ("headlight.lessons.measures", "headlight.lessons.panel", "headlight.lessons.teach", "headlight.views"),
        ),
        (
            "import headlight as hl; hl.load",
            "transformer.translator",
            ("streamlit", "plotly", "pandas", "sacrebleu"),
        ),
        ("import headlight.app.navigation", "streamlit", ("torch", "numpy", "pandas", "headlight.app.results")),
        ("import app", "app", ("torch", "numpy", "pandas", "sqlite3", "headlight.app.main", "headlight.lessons")),
    ],
)
def test_a_start_imports_only_the_rooms_that_it_needs(code, needed, excluded):
    seen = imported_by(code)
    assert needed in seen and of_packages(seen, *excluded) == []


def test_home_imports_few_of_our_modules():
    """All that a first visit reads, with the server's part: bars for the number of modules and for their lines."""
    code = (
        "import app, headlight.app.main, headlight.views.home.page\n"
        "from headlight.lessons import follow, show_lessons_through, show_panel, show_ways\n"
    )
    seen = imported_by(code)
    ours = [path for name, path in modules().items() if name in seen]
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in ours)
    assert 100 < len(ours) <= MODULES_OF_HOME and lines <= LINES_OF_HOME, f"{len(ours)} modules of {lines} lines"


def test_the_engine_imports_heavy_modules_only_in_functions():
    for path in files("transformer"):
        assert not [name for name in imports(path, at_the_top=True) if name.startswith(HEAVY)], path.name


def test_a_run_has_one_thread():
    code = "import headlight.app.main, torch, os; print(os.environ['OMP_NUM_THREADS'], torch.get_num_threads())"
    assert run(code) == ["1", "1"]


@pytest.mark.parametrize("path", files("pages"), ids=lambda path: path.stem)
def test_a_page_takes_its_request_before_it_imports_views(path):
    """Streamlit may run a page alone, before `main` has prepared the imports: see `headlight.app.navigation`."""
    first, *_ = (name for name in imports(path, at_the_top=True) if name.startswith("headlight"))
    assert first == "headlight.app.navigation"
    before, _, after = path.read_text("utf-8").partition("take_request()")
    assert after and "headlight.views" not in before and "headlight.lessons" not in before


def test_imports_are_frozen_for_the_garbage_collector_once(monkeypatch):
    calls = []
    monkeypatch.setattr(main.gc, "freeze", lambda: calls.append("freeze"))
    monkeypatch.setattr(main.gc, "collect", lambda: calls.append("collect"))
    monkeypatch.setattr(main, "_frozen", 0)
    main.freeze_imports()
    main.freeze_imports()
    assert calls == ["collect", "freeze"]
    monkeypatch.setitem(sys.modules, "page_of_a_first_visit", main)
    main.freeze_imports()
    assert calls == ["collect", "freeze"] * 2
