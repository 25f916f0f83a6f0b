"""Measures of one stack on random weights, and its lesson, which needs a checkpoint beside the one in the bar."""

import shutil

import numpy as np
import pytest
import torch
from support.lesson_runs import outcome_of, right_of, run_in
from support.models import small_config

from headlight.app import results
from headlight.lessons.export import export_lessons
from headlight.lessons.file import SHIPPED, read_lesson, read_lessons
from transformer.checkpoint import Checkpoint, OneStackCheckpoint, save_checkpoint
from transformer.interpret.one_stack import OneStackTranslator
from transformer.model.one_stack import OneStack
from transformer.model.transformer import Transformer

TEXT = "dog tree house car."
MEASURES = ("empty_block", "cross_block", "reads_ahead", "kept_rows", "share_of_source")


@pytest.fixture
def pair(tmp_path, tokenizer, monkeypatch):
    """Folder of a small encoder-decoder with a one stack beside it, both with random weights."""
    torch.manual_seed(3)
    config = small_config(vocab_size=len(tokenizer), max_length=64)
    save_checkpoint(tmp_path / "small", Checkpoint(Transformer(config), tokenizer, {}, []))
    save_checkpoint(tmp_path / "small-one-stack", OneStackCheckpoint(OneStack(config), tokenizer, {}, []), torch.int8)
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path)
    written = [9, 8, 7, tokenizer.end_id]  # random weights rarely write an end
    monkeypatch.setattr("transformer.interpret.one_stack.decode_greedily", lambda *_, **__: [written])
    return tmp_path / "small"


def test_measures_follow_from_the_mask_and_the_weights_of_both_models(pair):
    empty, cross, ahead, rows, share = (outcome_of(run_in(pair, TEXT), name) for name in MEASURES)
    trace = OneStackTranslator.load(f"{pair}-one-stack").trace(TEXT)
    size = len(trace.source_tokens)
    assert right_of(empty) == "source_on_target" and right_of(cross) == "target_on_source"
    assert right_of(ahead) == "encoder" and ahead.names["in_stack"] == 0 < ahead.names["in_encoder"]
    assert right_of(rows) == str(len(trace.tokens) - 1)
    words = np.mean([trace.decoder[..., row, : size - 1].sum(-1) for row in range(size, len(trace.tokens))])
    assert share.value == pytest.approx(100 * words, abs=1e-3)
    assert share.names["share"] + share.names["end"] + share.names["written"] == pytest.approx(1)


def test_without_its_checkpoint_the_lesson_is_left_out_and_its_measures_give_the_reason(pair, monkeypatch):
    shutil.rmtree(f"{pair}-one-stack")
    assert all("choose en-de" in outcome_of(run_in(pair, TEXT), name) for name in MEASURES)
    lesson = read_lesson(SHIPPED / "one_stack.toml")
    for is_there in (False, True):
        monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(pair.parent))
        assert (lesson in read_lessons()[0]) == is_there
        (pair.parent / lesson.needs).mkdir(exist_ok=True)
    assert export_lessons([lesson], pair)["lessons"] == []
