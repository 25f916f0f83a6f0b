"""What the app imports when it starts: nothing that only the training of a model needs."""

import os
import subprocess
import sys

from support.pages import ROOT
from support.source_files import files, imports, modules

from headlight.app import main

HEAVY = ("tensorboard", "torch.utils.tensorboard", "torch._dynamo", "torch.utils.flop_counter")
TRAINERS = ("trainer", "updates", "loader", "monitoring", "state")
OVER_A_CORPUS = {
    f"transformer.corpus.{name}" for name in ("executors", "measure", "atlas.drawing", "alignment.measure")
}
TRAINING = {f"transformer.training.{name}" for name in TRAINERS} | {"transformer.model.distributed"}


def imported_by(code: str) -> set[str]:
    """Return the names of the modules that are imported after this code has run in a new process."""
    command = [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return set(ran.stdout.splitlines()[-1].split())


def test_no_view_imports_what_trains_models_or_measures_corpora():
    views = [name for name in modules() if name.startswith("headlight.views.")]
    assert len(views) > 20 and modules().keys() >= TRAINING | OVER_A_CORPUS
    seen = imported_by(f"import headlight.app.main, headlight.lessons.page, {', '.join(views)}")
    assert {"transformer.translator", "transformer.training.replay", "transformer.corpus.atlas.atlas"} <= seen
    assert sorted(seen & (TRAINING | OVER_A_CORPUS)) == []


def test_a_page_imports_no_room_that_it_does_not_show():
    seen = imported_by("import headlight.app.bar, headlight.views.attention.page")
    assert "headlight.views.attention.explorer" in seen
    others = (
        "headlight.lessons",
        "headlight.classroom",
        "headlight.views.live",
        "headlight.views.what_if",
        "transformer.training",
    )
    assert not [name for name in seen if name.startswith(tuple(f"{other}." for other in others))]


def test_the_public_face_imports_no_app_and_no_figures_until_one_is_drawn():
    assert not {"torch", "numpy", "plotly"} & imported_by("import headlight")
    seen = imported_by("import headlight as hl; hl.load")
    assert "transformer.translator" in seen and not {"streamlit", "plotly", "pandas", "sacrebleu"} & seen


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
    seen = imported_by("import headlight.app.navigation")
    assert not {"torch", "numpy", "pandas", "headlight.app.results", "transformer.errors"} & seen
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
    loaded = imported_by("from headlight.lessons import panel; assert len(panel.lessons()[0]) > 1")
    assert "headlight.lessons.panel" in loaded
    assert not [name for name in loaded if name.startswith(("headlight.lessons.measures", "headlight.views"))]
