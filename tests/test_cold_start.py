"""What the app imports when it starts: nothing that only the training of a model needs."""

import os
import subprocess
import sys

from support.house import BELOW, files, imports, modules
from support.pages import ROOT

from headlight.app import main

HEAVY = ("tensorboard", "torch.utils.tensorboard", "torch._dynamo", "torch.utils.flop_counter")
TRAINERS = ("trainer", "updates", "loader", "monitoring", "state")
TRAINING = {f"transformer.training.{name}" for name in TRAINERS} | {"transformer.model.distributed"}


def test_the_app_starts_without_what_trains_models():
    ours = modules()
    names = {path: name for name, path in ours.items()}
    packages = BELOW.keys() - {"transformer"}
    waiting = {names[path] for package in packages for path in files(package)} | {"transformer"}
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        seen.add(name)
        waiting |= {found for found in imports(ours[name], at_the_top=True) if found in ours} - seen
    expected = {"transformer.translator", "transformer.training.replay", "transformer.model.transformer"}
    assert expected <= seen, "the search finds what the app surely imports"
    assert ours.keys() >= TRAINING
    assert sorted(seen & TRAINING) == []


def test_the_engine_imports_what_is_heavy_only_where_it_is_used():
    for path in files("transformer"):
        assert not [name for name in imports(path, at_the_top=True) if name.startswith(HEAVY)], path.name


def test_a_run_of_the_server_has_one_thread_unless_the_environment_says_otherwise():
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    command = [sys.executable, "-c", "import headlight.app.main, torch; print(torch.get_num_threads())"]
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "1"
    told = [sys.executable, "-c", "import headlight.app.main, os; print(os.environ['OMP_NUM_THREADS'])"]
    environment["OMP_NUM_THREADS"] = "2"
    ran = subprocess.run(told, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "2"


def test_a_page_that_streamlit_runs_alone_reads_nothing_before_the_server_is_prepared():
    """The first link to a server may be one to a page: see `headlight.app.navigation`."""
    command = [sys.executable, "-c", "import sys, headlight.app.navigation; print(*sys.modules)"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"torch", "numpy", "pandas", "headlight.app.results", "transformer"} & set(ran.stdout.split())
    for path in files("pages"):
        first, *_ = (name for name in imports(path, at_the_top=True) if name.startswith("headlight"))
        assert first == "headlight.app.navigation", path.name
        lines = path.read_text("utf-8").splitlines()
        alone = next(number for number, line in enumerate(lines) if "take_request()" in line)
        assert alone < next(
            number for number, line in enumerate(lines) if "headlight.views" in line or "headlight.lessons" in line
        ), path.name


def test_the_server_itself_reads_neither_the_app_nor_a_store_when_it_starts():
    command = [sys.executable, "-c", "import sys, app; print(type(app.app).__name__, *sys.modules)"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    name, *read = ran.stdout.split()
    heavy = {"torch", "numpy", "pandas", "sqlite3", "headlight.app.main", "headlight.lessons"}
    assert name == "App" and not heavy & set(read)


def test_what_is_imported_is_frozen_for_the_garbage_collector_once(monkeypatch):
    counted = []
    monkeypatch.setattr(main.gc, "freeze", lambda: counted.append("freeze"))
    monkeypatch.setattr(main.gc, "collect", lambda: counted.append("collect"))
    monkeypatch.setattr(main, "_frozen", 0)
    main.freeze_imports()
    main.freeze_imports()
    assert counted == ["collect", "freeze"], "a run that imports nothing costs nothing"
    monkeypatch.setitem(sys.modules, "a_page_that_was_not_visited_before", main)
    main.freeze_imports()
    assert counted == ["collect", "freeze"] * 2


def test_a_first_visit_imports_no_measure_of_the_lessons():
    code = "from headlight.lessons import panel; assert len(panel.lessons()[0]) > 1; import sys; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = ran.stdout.split()
    assert "headlight.lessons.panel" in loaded
    assert not [name for name in loaded if name.startswith(("headlight.lessons.measures", "headlight.views"))]
