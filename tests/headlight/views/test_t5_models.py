"""The pages with models of T5's family: every view opens, and says what holds for these."""

from urllib.parse import parse_qsl, urlsplit

import pytest
import torch
from support.addresses import VIEWS
from support.pages import open_page, page_text
from support.t5 import write_t5

from headlight.app import results
from transformer.checkpoint import save_checkpoint
from transformer.exchange.importing import import_checkpoint

T5, FLAN, BYT5 = "t5", "flan-t5", "byt5"
NEEDS_PAIRS = ("training=batches", "calibration", "pre-norm")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three imported checkpoints with random weights."""
    made, folder = tmp_path_factory.mktemp("models"), tmp_path_factory.mktemp("checkpoints")
    for name in (T5, FLAN, BYT5):
        (made / name).mkdir()
        write_t5(made / name, name)
        save_checkpoint(folder / name, import_checkpoint(made / name), torch.float32)
    return folder


@pytest.fixture(autouse=True)
def only_these(folder, monkeypatch):
    monkeypatch.setattr(results, "CHECKPOINTS", folder)


def opened(address: str, **more: str):
    parts = urlsplit(address)
    return open_page(f"pages/{parts.path.strip('/') or 'home'}.py", **dict(parse_qsl(parts.query)), **more)


@pytest.mark.parametrize("name", [T5, FLAN, BYT5])
@pytest.mark.parametrize("address", VIEWS)
def test_every_view_opens_or_says_what_it_lacks(address, name):
    app = opened(address.replace("checkpoint=en-fr", ""), checkpoint=name, text="red dog")
    said = page_text(app)
    of_the_text = ("length limit", "never seen", "at most 39", "cannot begin", "same translation")
    complaints = [each.value for each in app.warning if not any(part in each.value for part in of_the_text)]
    assert not app.error
    assert all("sentence pairs" in each or "training replay" in each for each in complaints), complaints
    assert not complaints or any(part in address for part in (*NEEDS_PAIRS, "training+replay"))
    assert "Imported: " in said
