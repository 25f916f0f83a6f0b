"""The task before the text: a field of the bar for a model that is so told what to do, and for no other."""

import pytest
import torch
from support.models import small_model
from support.pages import open_page, page_text
from support.t5 import PREFIXES, write_t5

from headlight.app import results
from transformer import Translator
from transformer.checkpoint import Checkpoint, save_checkpoint
from transformer.exchange.importing import import_checkpoint


@pytest.fixture(scope="module")
def folder(tokenizer, tmp_path_factory):
    """A FLAN-T5 with random weights, and a model of our own."""
    made, folder = tmp_path_factory.mktemp("models"), tmp_path_factory.mktemp("checkpoints")
    write_t5(made, "flan-t5")
    save_checkpoint(folder / "flan-t5", import_checkpoint(made), torch.float32)
    save_checkpoint(folder / "own", Checkpoint(small_model(vocab_size=len(tokenizer)), tokenizer))
    return folder


@pytest.fixture(autouse=True)
def only_these(folder, monkeypatch):
    monkeypatch.setattr(results, "CHECKPOINTS", folder)


def test_the_tasks_are_offered_and_the_address_keeps_the_chosen_one(folder):
    app = open_page("pages/decoding.py", checkpoint="flan-t5", text="red dog")
    nothing, german = "nothing before the text", PREFIXES["translation_en_to_de"]
    field = app.selectbox(key="instruction")
    assert field.options == [nothing, *PREFIXES.values()] and field.value == german
    translator = Translator.load(folder / "flan-t5")
    for task in (german, PREFIXES["summarization"], None):
        app.selectbox(key="instruction").set_value(task or nothing).run()
        trace = translator.trace("red dog", task=task)
        assert (task in trace.source_text) if task else trace.source_text == "red dog"
        assert all(part in page_text(app) for part in trace.target_text.split()[:2])
        linked = open_page("pages/decoding.py", checkpoint="flan-t5", text="red dog", instruction=task or nothing)
        assert linked.selectbox(key="instruction").value == (task or nothing) and page_text(linked) == page_text(app)


def test_other_models_have_no_such_field():
    app = open_page("pages/decoding.py", checkpoint="own", text="red dog")
    assert not app.error and not [each for each in app.selectbox if each.key == "instruction"]
