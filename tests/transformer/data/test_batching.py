"""Batches: filled up to a budget, bucketed by length, and opened for a view."""

import numpy as np
import pytest
from support.tiny import make_pairs, write_pairs

from transformer.data.batching import (
    MOST_SAMPLES,
    Example,
    collate,
    epoch_batches,
    fill_batches,
    make_examples,
    read_samples,
    view_batch,
)
from transformer.data.tokenizer import Tokenizer
from transformer.errors import DataError
from transformer.model.attention import causal_mask, padding_mask, target_mask

SHIPPED = ("en-de", "en-fr")


def example(source: int, target: int) -> Example:
    """Return a pair with this number of tokens of source and of predicted target."""
    return Example((*[7] * (source - 1), 3), (2, *[9] * (target - 1), 3))


@pytest.fixture(scope="module")
def shipped(request) -> dict[str, list[Example]]:
    folder = request.config.rootpath / "checkpoints"
    return {
        name: read_samples(folder / name, Tokenizer.load(folder / name / "tokenizer.model"), 128) for name in SHIPPED
    }


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("budget", [1, 17, 256, 10_000])
def test_batches_hold_every_example_once_and_are_closed_no_sooner_than_the_budget_asks(shipped, name, budget):
    batches = fill_batches(shipped[name], budget)
    assert [each for batch in batches for each in batch] == shipped[name]
    for batch in batches:
        assert len(batch) * max(e.length for e in batch) <= budget or len(batch) == 1
    for batch, after in zip(batches, batches[1:], strict=False):
        assert (len(batch) + 1) * max(e.length for e in [*batch, after[0]]) > budget


def test_bucketing_by_length_needs_no_padding_where_lengths_repeat():
    examples = [example(2, 2), example(10, 10)] * 8
    by_length = epoch_batches(examples, 40, 0.0, 24, seed=1)
    assert sorted(map(len, by_length)) == [4, 4, 8]
    assert all(len({e.length for e in batch}) == 1 for batch in by_length)


def test_missing_and_unreadable_samples_are_refused(tmp_path, tokenizer):
    with pytest.raises(DataError, match="brings no sentence pairs along"):
        read_samples(tmp_path, tokenizer, 24)
    (tmp_path / "samples.tsv").write_bytes(b"\xff\xfe\x00 no pair at all\n")
    with pytest.raises(DataError, match="no usable pair"):
        read_samples(tmp_path, tokenizer, 24)
    write_pairs(tmp_path / "samples.tsv", make_pairs(MOST_SAMPLES + 50, 1))
    assert len(read_samples(tmp_path, tokenizer, 24)) == MOST_SAMPLES


@pytest.fixture(scope="module")
def opened(tokenizer):
    batch = make_examples([("red dog.", "rot Hund."), ("a small old car.", "klein alt Wagen.")], tokenizer, 24)
    lengths = [(len(e.source), len(e.target) - 1) for e in batch]
    return batch, view_batch(*collate(batch, tokenizer.pad_id), lengths, tokenizer)


def test_an_opened_batch_is_what_training_gets(opened, tokenizer):
    batch, inside = opened
    source, fed, following = collate(batch, tokenizer.pad_id)
    for tokens, ids in (
        (inside.source_tokens, source),
        (inside.decoder_input_tokens, fed),
        (inside.target_tokens, following),
    ):
        assert tokens == tuple(tuple(map(tokenizer.piece_text, row)) for row in ids.tolist())
    np.testing.assert_array_equal(inside.source_mask, padding_mask(source, 0).numpy())
    np.testing.assert_array_equal(inside.target_padding_mask, padding_mask(fed, 0).numpy())
    np.testing.assert_array_equal(inside.causal_mask, causal_mask(fed.shape[1]).numpy())
    np.testing.assert_array_equal(inside.target_mask, target_mask(fed, 0).numpy())
    for row in range(len(batch)):
        assert inside.source_tokens[row][: inside.source_lengths[row]].count("<pad>") == 0
        assert set(inside.target_tokens[row][inside.target_lengths[row] :]) <= {"<pad>"}
        assert inside.target_tokens[row][inside.target_lengths[row] - 1] == "</s>"
    with pytest.raises(ValueError, match="read-only"):
        inside.source_mask[:] = True
