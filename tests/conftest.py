"""Fixtures and markers of all tests: servers, a browser, models of the tiny language, and one trained run."""

import signal
import sys
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path

import pytest
import torch
from hypothesis import settings
from playwright.sync_api import Browser
from streamlit.components.v2 import manifest_scanner
from support import short_run
from support.chromium import chromium
from support.models import small_config
from support.server import serve
from support.tiny import VOCABULARY, make_pairs, tiny_experiment

from headlight.classroom import FILE_VARIABLE
from headlight.classroom.sqlite_store import SqliteStore
from transformer.checkpoint import Checkpoint, save_checkpoint
from transformer.config import TokenizerConfig
from transformer.data.tokenizer import Tokenizer
from transformer.model.transformer import Transformer
from transformer.training.trainer import train
from transformer.translator import Translator

ROOT = Path(__file__).parents[1]
# The longest files come first, so that all workers end at about the same time.
LONGEST = (
    *("test_views", "test_class", "test_live_file", "test_lessons", "test_distributed", "test_components"),
    "test_every_view",
)
# Files that start processes, train until something is learned, or go through every shape of model.
SLOW = {
    *("test_atlas_command", "test_class_killed", "test_class_replicas", "test_class_rights", "test_cold_start"),
    *("test_distributed", "test_engine", "test_every_shape", "test_examples", "test_host"),
    *("test_hostile", "test_imported_models", "test_interrupted", "test_jobs", "test_live_page"),
    *("test_many_visitors", "test_measures_learning", "test_model_queue", "test_nginx", "test_package"),
    *("test_resume", "test_toy_training", "test_untrusted"),
}
# Files that need more than Python and browsers, or start trainings of several processes, for minutes.
NIGHTLY = {"test_nginx", "test_class_replicas", "test_distributed"}

settings.register_profile("tests", deadline=None, derandomize=True, database=None)
settings.load_profile("tests")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by their files, and put the longest files first."""
    for item in items:
        if "browser" in item.fixturenames or item.path.parent.name == "browser":
            item.add_marker(pytest.mark.browser)
        if item.path.stem in SLOW or "trained_folder" in item.fixturenames:
            item.add_marker(pytest.mark.slow)
        if item.path.stem in NIGHTLY:
            item.add_marker(pytest.mark.nightly)
    items.sort(key=lambda item: LONGEST.index(item.path.stem) if item.path.stem in LONGEST else len(LONGEST))


_MAIN = sys.modules["__main__"]


@pytest.fixture(autouse=True)
def main_module():
    """Restore the main module of the tests: Streamlit leaves a page there, which a spawned process would run."""
    sys.modules["__main__"] = _MAIN


@pytest.fixture(scope="session", autouse=True)
def installed_components() -> Iterator[None]:
    """Search the installed packages for components once: each `AppTest` would, longer than most pages take."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture
def command_line(monkeypatch) -> Iterator[None]:
    """Run commands in this process, on the CPU, and restore its handler of SIGTERM."""
    monkeypatch.setenv("HEADLIGHT_DEVICE", "cpu")
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """The address of one server for all tests."""
    with serve() as address:
        yield address


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Iterator[SqliteStore]:
    """A store of classes for the tests of one file."""
    with closing(SqliteStore(tmp_path_factory.mktemp("classes") / "classes.sqlite3")) as store:
        yield store


@pytest.fixture(scope="module")
def school(store) -> Iterator[str]:
    """The address of a server with the store."""
    with serve(**{FILE_VARIABLE: str(store._path)}) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all journeys: Playwright allows one per thread."""
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return Tokenizer.train((side for pair in make_pairs(400, 1) for side in pair), TokenizerConfig(VOCABULARY))


@pytest.fixture(scope="session")
def checkpoints() -> Path:
    """The folder of the shipped checkpoints."""
    return ROOT / "checkpoints"


@pytest.fixture(scope="session")
def shipped(checkpoints) -> Translator:
    """The checkpoint that the app opens with."""
    return Translator.load(checkpoints / "en-de", "cpu")


@pytest.fixture(scope="session")
def translator(tokenizer) -> Translator:
    """A translator with random weights."""
    torch.manual_seed(1)
    return Translator(Checkpoint(Transformer(small_config(vocab_size=VOCABULARY)), tokenizer))


@pytest.fixture
def checkpoint_folder(tmp_path, translator) -> Path:
    """A checkpoint on disk that a test may damage."""
    checkpoint = Checkpoint(translator.model, translator.tokenizer, {"steps": 7}, [{"step": 7, "valid_loss": 1.5}])
    save_checkpoint(tmp_path / "checkpoint", checkpoint)
    return tmp_path / "checkpoint"


@pytest.fixture(scope="session")
def trained_folder(tmp_path_factory) -> Path:
    """The checkpoint of one run on the tiny language, to be read only."""
    folder = tmp_path_factory.mktemp("trained") / "tiny"
    train(tiny_experiment(), make_pairs(1500, 1), make_pairs(40, 2), folder, torch.device("cpu"))
    return folder


@pytest.fixture(scope="session")
def uninterrupted(tmp_path_factory) -> dict:
    """The end of the short run when nothing stops it."""
    out = tmp_path_factory.mktemp("uninterrupted")
    short_run.run(out)
    end = short_run.end_of(out)
    assert end["progress"]["step"] == 12 and end["progress"]["epoch"] >= 1
    return end
