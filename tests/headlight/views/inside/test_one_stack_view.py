"""The view of one stack through Streamlit's test runner, on random weights: both maps, the shares, an open source."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from support.models import small_config
from support.pages import headlines, numbers, open_page, page_text, specs
from support.tiny import VOCABULARY

from headlight.app import results
from headlight.views.inside.one_stack_content import describe_prefix, describe_reading
from transformer.checkpoint import Checkpoint, OneStackCheckpoint, save_checkpoint
from transformer.interpret.one_stack import BlockName, OneStackTranslator, overlaps
from transformer.model.one_stack import OneStack
from transformer.model.transformer import Transformer
from transformer.translator import Translator

TEXT = "red dog."


@pytest.fixture
def folder(tokenizer, tmp_path, monkeypatch):
    """A folder with a checkpoint, which the app reads."""
    torch.manual_seed(3)
    save_checkpoint(tmp_path / "tiny", Checkpoint(Transformer(small_config(vocab_size=VOCABULARY)), tokenizer))
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path)
    return tmp_path


@pytest.fixture
def one_stack(folder, tokenizer) -> OneStackTranslator:
    """A one stack beside it."""
    model = OneStack(replace(small_config(vocab_size=VOCABULARY), norm="pre", max_length=24))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    save_checkpoint(folder / "tiny-one-stack", OneStackCheckpoint(model, tokenizer), torch.int8)
    return OneStackTranslator.load(folder / "tiny-one-stack", "cpu")


def open_view(**query: str):
    return open_page("pages/inside.py", inside="one stack", text=TEXT, checkpoint="tiny", **query)


def test_the_view_is_offered_only_where_there_is_a_one_stack(folder):
    assert "one stack" not in open_view().segmented_control(key="inside").options


@pytest.mark.parametrize("name", ["source on source", "target on source", "target on target"])
def test_a_block_stands_beside_the_nearest_head_of_its_kind(folder, one_stack, name):
    app, trace = open_view(block=name), one_stack.trace(TEXT)
    assert app.segmented_control(key="inside").value == "one stack" and results.checkpoint_names() == ["tiny"]
    other, block = Translator.load(folder / "tiny", "cpu").trace(TEXT, target=trace.target_ids), trace.block(name)
    common = overlaps(trace, BlockName(name), other.attention(block.name.kind))
    layer, head, *nearest = np.unravel_index(common.argmax(), common.shape)
    assert [app.segmented_control(key=f"{key}_buttons").value for key in ("layer", "head")] == [
        str(layer + 1),
        str(head + 1),
    ]
    left, right = specs(app)
    shown = np.nan_to_num(numbers(left["data"][0]["z"]).astype(float))
    np.testing.assert_allclose(shown, trace.decoder[layer, head], atol=1e-5)
    shown = np.nan_to_num(numbers(right["data"][0]["z"]).astype(float))
    np.testing.assert_allclose(shown, other.attention(block.name.kind)[tuple(nearest)], atol=1e-5)
    assert right["layout"]["meta"]["link"] == [block.rows.start or 0, block.columns.start or 0]
    assert headlines(app) == [describe_reading(trace, (layer, head)).headline]


def test_overlaps_are_the_common_weights_of_rows_that_sum_to_one(one_stack):
    trace = one_stack.trace(TEXT)
    block = trace.block("target on source").weights
    rows = block / block.sum(axis=-1, keepdims=True)
    common = overlaps(trace, BlockName.TARGET_ON_SOURCE, rows)
    np.testing.assert_allclose([common[0, 0, 0, 0], common[1, 2, 1, 2]], 1, atol=1e-5)
    expected = np.minimum(rows[1, 2], rows[0, 3]).sum(axis=-1).mean()
    np.testing.assert_allclose([common[1, 2, 0, 3], common[0, 3, 1, 2]], expected, atol=1e-5)


def test_an_open_source_is_described_as_outside_of_the_training(one_stack):
    causal, opened = (one_stack.trace(TEXT, prefix=prefix) for prefix in (False, True))
    app = open_view(prefix_mask="1", head="decoder.1.1")
    reading = describe_reading(opened, (0, 0))
    shares = [reading["words"], reading.details[0]["end"], reading.details[0]["target"]]
    assert sum(shares) == pytest.approx(1, abs=1e-5)
    assert headlines(app) == [reading.headline, describe_prefix(causal, opened).headline]
    assert "trained with the causal mask alone" in page_text(app)
    assert np.isfinite(numbers(specs(app)[0]["data"][0]["z"]).astype(float)[0, 1])
