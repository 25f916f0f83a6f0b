"""The view on batches through Streamlit's own test runner: what is shown is what training learns from."""

import json
import shutil

import pytest
from streamlit.testing.v1 import AppTest
from support.pages import ROOT, headlines, open_page, page_text, specs, tables

from headlight.app import results
from headlight.app.url_state import PARAMETERS
from headlight.plots.training import WAYS
from headlight.views.training.batching import describe_both_ways
from transformer.data.batching import Example, count_padding, epoch_batches, random_batches, read_samples
from transformer.data.tokenizer import Tokenizer

PAGE = "pages/training.py"


@pytest.fixture(scope="module")
def tokenizer_of_en_de() -> Tokenizer:
    return Tokenizer.load(ROOT / "checkpoints" / "en-de" / "tokenizer.model")


@pytest.fixture(scope="module")
def examples(tokenizer_of_en_de) -> list[Example]:
    return read_samples(ROOT / "checkpoints" / "en-de", tokenizer_of_en_de, 128)


def open_batches(**query: str) -> AppTest:
    return open_page(PAGE, training="batches", **query)


def drawn(spec: dict) -> list[list[str]]:
    return spec["data"][0]["text"]


def test_the_view_opens_with_a_batch_of_the_very_batches_that_training_uses(examples, tokenizer_of_en_de):
    app = open_batches()
    source, target, mask, shares = specs(app)
    batches = epoch_batches(examples, 256, 0.0, 128, PARAMETERS["shuffle"].default)
    escaped = {"<": "&lt;", ">": "&gt;"}
    for spec, side in ((source, "source"), (target, "target")):
        rows = [getattr(example, side) for example in batches[0]]
        pieces = [[tokenizer_of_en_de.piece_text(id) for id in (row[1:] if side == "target" else row)] for row in rows]
        for shown, row in zip(drawn(spec), pieces, strict=True):
            assert shown[: len(row)] == ["".join(escaped.get(c, c) for c in piece) for piece in row]
            assert set(shown[len(row) :]) <= {"&lt;pad&gt;"}
    assert app.subheader[1].value == f"Batch 1 of {len(batches)}, batched by length"
    assert [len(trace["x"]["bdata"]) > 0 for trace in shares["data"][:2]] == [True, True]
    text = page_text(app)
    seed = PARAMETERS["shuffle"].default
    whole, random = count_padding(*batches), count_padding(*random_batches(examples, 256, seed))
    ways = dict(zip(WAYS, (whole, random), strict=True))
    assert headlines(app)[-1] == describe_both_ways(ways).headline
    pairs = json.loads((ROOT / "checkpoints/en-de/training.json").read_text(encoding="utf-8"))["training_pairs"]
    assert f"{random.padding:,}" in tables(app) and "counts in the loss" in tables(app)
    assert "CC BY 2.0 FR" in text and "tatoeba.org" in text and f"Training had {pairs:,} pairs." in text


def test_the_url_restores_budget_packing_shuffle_batch_and_sentence(examples):
    app = open_batches(budget="512", bucketing="at random", shuffle="3", batch="4", sentence="2")
    batches = random_batches(examples, 512, 3)
    assert app.subheader[1].value == f"Batch 4 of {len(batches)}, batched at random"
    assert app.subheader[2].value == "Sentence 2 of this batch"
    assert len(drawn(specs(app)[0])) == len(batches[3])
    filled = count_padding(batches[3])
    assert f"{filled.padding:,} of {filled.cells:,} cells" in page_text(app)


def test_fed_and_predicted_are_shifted_by_one_and_padding_is_hatched(examples, tokenizer_of_en_de):
    app = open_batches(bucketing="at random", batch="4", sentence="3")
    batch = random_batches(examples, 256, PARAMETERS["shuffle"].default)[3]
    example, width = batch[2], max(len(e.target) - 1 for e in batch)
    steps = len(example.target) - 1
    assert steps < width
    bodies = [element.proto.body for element in app.get("html") if "<table" in element.proto.body]
    source, target = (body for body in bodies if "position" in body)
    assert target.count("&lt;pad&gt;") == 2 * (width - steps) - 1, "of the fed row one less: its end is fed too"
    assert target.count('"closed"') == 3 * (width - steps) - 1 and target.count("<td") == 3 * width
    assert target.count(">yes<") == steps and target.count(">no<") == width - steps
    assert source.count(">no<") == max(len(e.source) for e in batch) - len(example.source)


def test_a_batch_or_sentence_that_is_no_longer_there_falls_back():
    app = open_batches(budget="128", batch="30", sentence="9")
    assert app.subheader[1].value.startswith("Batch 30 of ")
    app.select_slider(key="budget").set_value("2048").run()
    assert not app.exception and app.subheader[1].value.startswith("Batch 1 of ")
    app = open_batches(budget="7", bucketing="evil", shuffle="inf", batch="9999", sentence="x")
    assert not app.exception and len(specs(app)) == 4


@pytest.mark.parametrize("budget, packing", [("128", "at random"), ("2048", "by length")])
def test_the_ends_of_the_budget(budget, packing):
    app = open_batches(budget=budget, bucketing=packing, checkpoint="en-fr")
    assert not app.exception and not app.warning and len(specs(app)) == 4


@pytest.mark.parametrize(
    "content, message",
    [
        (None, "brings no sentence pairs along"),
        (b"", "no usable pair"),
        (b"\xff\xfe\tbroken\n", "no usable pair"),
        (b"word " * 400 + b"\tWort\n", "128 tokens a side"),
    ],
)
def test_a_checkpoint_without_a_usable_sample_gets_a_sentence(tmp_path, monkeypatch, content, message):
    folder = tmp_path / "own"
    shutil.copytree(ROOT / "checkpoints" / "en-de", folder, ignore=shutil.ignore_patterns("resume", "samples.tsv"))
    if content is not None:
        (folder / "samples.tsv").write_bytes(content)
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path)
    app = open_batches()
    assert not specs(app) and message in app.warning[0].value.replace("\\", "")
    (folder / "samples.tsv").write_bytes(b"I see.\tIch sehe.\n<b>*x*</b> $y$\tIch <i>sehe</i>.\n")
    app.run()
    assert not app.warning and not app.exception and len(specs(app)) == 4, "a new sample is read anew"
    assert "<b>" not in tables(app) and "2 sentence pairs" in page_text(app)
