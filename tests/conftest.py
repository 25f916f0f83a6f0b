"""What several test files share: a tokenizer and a model for the tiny language, and one trained run."""

import json
import signal
import sys
from base64 import b64decode
from collections.abc import Iterator
from functools import cache
from math import isnan
from pathlib import Path

import numpy as np
import orjson
import plotly.graph_objects as go
import pytest
import torch
from playwright.sync_api import Browser
from plotly.io import to_json
from streamlit.components.v2 import manifest_scanner
from support import short_run
from support.chromium import chromium
from support.models import small_config
from support.server import serve
from support.tiny import VOCABULARY, make_pairs, tiny_experiment

from headlight.classroom import FILE_VARIABLE
from headlight.classroom.sqlite_store import SqliteStore
from headlight.plots.layout import Figure
from transformer.checkpoint import Checkpoint, save_checkpoint
from transformer.config import TokenizerConfig
from transformer.data.tokenizer import Tokenizer
from transformer.model.transformer import Transformer
from transformer.training.trainer import train
from transformer.translator import Translator

ROOT = Path(__file__).parents[1]
AS_PLOTLY_ASKS = orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY
# The files that take longest come first, so that all workers end at about the same time.
LONGEST = (
    "test_live",
    "test_lesson",
    "test_views",
    "test_distributed",
    "test_atlas_on_ray",
    "test_explorer",
    "test_inside",
)
# Files that start processes, train until something is learned, or go through every shape of model.
SLOW = {
    "test_atlas_command",
    "test_atlas_on_ray",
    "test_class_killed",
    "test_class_replicas",
    "test_class_rights",
    "test_cold_start",
    "test_distributed",
    "test_every_shape",
    "test_examples",
    "test_full_disk",
    "test_host",
    "test_hostile",
    "test_imported_models",
    "test_interrupted",
    "test_jobs",
    "test_live_page",
    "test_memory",
    "test_nginx",
    "test_package",
    "test_resume",
    "test_toy_training",
    "test_untrusted",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests before a browser and the slow ones, for who leaves them out, and put the longest files first."""
    for item in items:
        if "browser" in item.fixturenames or item.path.parent.name == "browser":
            item.add_marker(pytest.mark.browser)
        if item.path.stem in SLOW:
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: LONGEST.index(item.path.stem) if item.path.stem in LONGEST else len(LONGEST))


_MAIN = sys.modules["__main__"]


@pytest.fixture(autouse=True)
def main_module():
    """Put the tests' own main module back: Streamlit leaves a page there, which a process that is spawned would run."""
    sys.modules["__main__"] = _MAIN


@pytest.fixture(scope="session", autouse=True)
def installed_components() -> Iterator[None]:
    """Each `AppTest` searches all installed packages for components, longer than most pages take: once is enough."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


def as_drawn(figure: dict) -> object:
    """A figure as Plotly's JavaScript reads it: numbers are the same packed and in a list."""

    def unpacked(part: dict) -> object:
        if part.keys() >= {"dtype", "bdata"}:
            numbers = np.frombuffer(b64decode(part["bdata"]), part["dtype"]).tolist()
            return [None if isnan(number) else number for number in numbers]
        return part

    return json.loads(to_json(figure, validate=False), object_hook=unpacked)


@pytest.fixture(scope="session", autouse=True)
def checked_figures() -> Iterator[None]:
    """Wherever a test draws a figure, what is sent of it unchecked is what Plotly makes of it with its checks."""
    unchecked = Figure.to_dict

    def to_dict(figure: Figure) -> dict:
        sent = unchecked(figure)
        assert as_drawn(sent) == as_drawn(go.Figure(figure._given).to_dict())
        orjson.dumps(sent, option=AS_PLOTLY_ASKS)  # what it cannot read, Plotly would look through value by value
        return sent

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "to_dict", to_dict)
        yield


@pytest.fixture
def command_line(monkeypatch) -> Iterator[None]:
    """Run commands in this process, on the CPU: they set a handler for SIGTERM, and this process keeps its own."""
    monkeypatch.setenv("HEADLIGHT_DEVICE", "cpu")
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """One server for all who visit the app over a network."""
    with serve() as address:
        yield address


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Iterator[SqliteStore]:
    """Classes in a file of their own, for the tests of one file."""
    found = SqliteStore(tmp_path_factory.mktemp("classes") / "classes.sqlite3")
    yield found
    found.close()


@pytest.fixture(scope="module")
def school(store) -> Iterator[str]:
    """The real app with this store."""
    with serve(**{FILE_VARIABLE: str(store._path)}) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all journeys: Playwright allows one a thread."""
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
    """A translator that knows nothing yet: random weights."""
    torch.manual_seed(1)
    return Translator(Checkpoint(Transformer(small_config(vocab_size=VOCABULARY)), tokenizer))


@pytest.fixture
def checkpoint_folder(tmp_path, translator) -> Path:
    """A whole checkpoint on disk that a test may damage."""
    checkpoint = Checkpoint(translator.model, translator.tokenizer, {"steps": 7}, [{"step": 7, "valid_loss": 1.5}])
    save_checkpoint(tmp_path / "checkpoint", checkpoint)
    return tmp_path / "checkpoint"


@pytest.fixture(scope="session")
def trained_folder(tmp_path_factory) -> Path:
    """The checkpoint folder of one run on the tiny language; to be read, not written to."""
    folder = tmp_path_factory.mktemp("trained") / "tiny"
    train(tiny_experiment(), make_pairs(1500, 1), make_pairs(40, 2), folder, torch.device("cpu"))
    return folder


@pytest.fixture(scope="session")
def uninterrupted(tmp_path_factory) -> dict:
    """What the short run ends with when nothing stops it."""
    out = tmp_path_factory.mktemp("uninterrupted")
    short_run.run(out)
    end = short_run.end_of(out)
    assert end["progress"]["step"] == 12 and end["progress"]["epoch"] >= 1
    return end
