"""Sentence pairs: reading, examples, batches, and the samples of a checkpoint."""

import gzip
import logging
import random

import numpy as np
import pytest
from support.tiny import make_pairs, write_pairs

from transformer.data.batching import (
    MOST_SAMPLES,
    Example,
    collate,
    epoch_batches,
    fill_batches,
    fitting,
    make_examples,
    read_samples,
    view_batch,
)
from transformer.data.pairs import Pairs, read_pairs
from transformer.data.tokenizer import Tokenizer
from transformer.errors import DataError
from transformer.model.attention import causal_mask, padding_mask, target_mask


@pytest.fixture(scope="module")
def examples(tokenizer) -> list[Example]:
    return make_examples(Pairs(make_pairs(200, 7), range(1, 201), "pairs.tsv"), tokenizer, max_length=24)


def test_pairs_are_read_with_their_umlauts_either_line_end_and_packed(tmp_path, caplog):
    content = "I see.\tIch weiß.\r\nGo!\tGeh!\n no end \t ohne Ende ".encode()
    for name, stored in (("pairs.tsv", content), ("pairs.tsv.gz", gzip.compress(content))):
        (tmp_path / name).write_bytes(stored)
        assert read_pairs(tmp_path / name) == [("I see.", "Ich weiß."), ("Go!", "Geh!"), (" no end ", " ohne Ende ")]
    assert caplog.text == ""


def test_lines_that_are_no_pair_are_counted_by_reason_with_their_numbers(tmp_path, caplog):
    path = tmp_path / "pairs.tsv"
    path.write_bytes(
        b"one\teins\nno tab\ntoo\tmany\ttabs\n\xff\xfe\tbad\n\tempty source\nempty target\t \n\nsix\tsechs\n"
    )
    with caplog.at_level(logging.WARNING):
        pairs = read_pairs(path)
    assert pairs == [("one", "eins"), ("six", "sechs")] and (pairs.lines, pairs.name) == ([1, 8], str(path))
    assert caplog.messages == [
        f"{path}: skipped 6 lines: 2 without a tab (lines 2, 7), 1 with more than one tab (line 3), "
        "1 not in UTF-8 (line 4), 2 with an empty side (lines 5, 6)"
    ]
    path.write_text("x\n" * 9 + "a\tb\n")
    read_pairs(path)
    assert "9 without a tab (lines 1, 2, 3, 4, 5, …)" in caplog.text


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"no tab at all\n", random.Random(1).randbytes(50).replace(b"\t", b"x")]
)
def test_a_file_without_a_usable_pair_damaged_or_missing_is_refused(tmp_path, content):
    path = tmp_path / "pairs.tsv"
    path.write_bytes(content)
    with pytest.raises(DataError, match="no usable pair .*: (it is empty|[0-9]+ lines?: .*(tab|UTF-8))"):
        read_pairs(path)
    path = tmp_path / "pairs.tsv.gz"
    path.write_bytes(gzip.compress(b"a\tb\n")[:-5])
    for unreadable in (path, tmp_path / "gone.tsv", tmp_path):
        with pytest.raises(DataError, match="cannot be read"):
            read_pairs(unreadable)


class German(Tokenizer):
    """Tokenizer of a model whose targets begin with a token for their language."""

    def forced_ids(self, text: str) -> list[int]:
        return [17]


def test_examples_carry_their_special_tokens(tokenizer):
    (german,) = make_examples([("red dog.", "rot Hund.")], German(tokenizer.model), 24)
    assert german.target == (2, 17, *tokenizer.encode("rot Hund."), 3)
    (example,) = make_examples([("red dog.", "rot Hund.")], tokenizer, 24)
    assert example.source == (*tokenizer.encode("red dog."), 3)
    assert example.target == (2, *tokenizer.encode("rot Hund."), 3)
    assert make_examples([("red dog.", "rot Hund.")], tokenizer, example.length) == [example]
    assert (Example((5, 3), (2, 6, 7, 8, 3)).length, Example((5, 6, 7, 8, 3), (2, 6, 3)).length) == (4, 5)
    for pairs in ([("red dog.", "rot."), ("red.", "rot " * 30)], []):
        with pytest.raises(DataError, match="2 lines: 2 longer than 3 tokens|there is none"):
            make_examples(pairs, tokenizer, 3)


def test_pairs_that_do_not_fit_the_model_are_left_out_by_reason_with_their_lines(tokenizer, caplog):
    invisible = "\u200b"  # no white space to Python, nothing at all to SentencePiece
    pairs = [("red.", "rot."), ("red " * 30, "rot."), (invisible, "rot."), ("red.", "rot " * 30), ("dog.", "Hund.")]
    with caplog.at_level(logging.WARNING):
        fitted, examples = fitting(Pairs(pairs, [1, 2, 5, 7, 9], "pairs.tsv"), tokenizer, 24)
    assert fitted == [pairs[0], pairs[4]] and [example.lines for example in examples] == [(1,), (9,)]
    assert caplog.messages == [
        "pairs.tsv: left out 3 lines: 2 longer than 24 tokens a side (lines 2, 7), "
        "1 with a side that has no token (line 5)"
    ]
    assert examples == make_examples(Pairs(pairs, [1, 2, 5, 7, 9], "pairs.tsv"), tokenizer, 24)


def test_every_example_is_in_one_batch_of_the_epoch_and_little_of_it_is_padding(examples):
    batches = epoch_batches(examples, 240, 0.0, 24, seed=1)
    assert sorted(e.lines for batch in batches for e in batch) == sorted(e.lines for e in examples)
    assert batches == epoch_batches(examples, 240, 0.0, 24, seed=1) != epoch_batches(examples, 240, 0.0, 24, seed=2)
    sources = [collate(batch, 0)[0] for batch in batches]
    assert max(ids.numel() for ids in sources) <= 240
    assert sum(int((ids == 0).sum()) for ids in sources) < 0.2 * sum(ids.numel() for ids in sources)


def test_joined_examples_have_both_texts_and_one_end_of_sentence_within_the_limit(examples):
    joined = [e for batch in epoch_batches(examples, 500, 1.0, 24, seed=1) for e in batch]
    assert len(joined) < len(examples)
    for example in joined:
        assert example.length <= 24
        assert example.source.count(3) == example.target.count(3) == example.target.count(2) == 1
    both = next(e for e in joined if len(e.lines) == 2)
    first, second = (next(e for e in examples if e.lines == (line,)) for line in both.lines)
    assert both.source == first.source[:-1] + second.source
    words = sum(len(e.source) - 1 for e in examples)
    assert sum(len(e.source) - 1 for e in joined) == words


def test_what_is_predicted_at_a_position_is_fed_at_the_next():
    source, fed, predicted = collate([Example((5, 3), (2, 6, 7, 3)), Example((5, 6, 3), (2, 8, 3))], 0)
    assert source.tolist() == [[5, 3, 0], [5, 6, 3]]
    assert fed.tolist() == [[2, 6, 7], [2, 8, 3]]
    assert predicted.tolist() == [[6, 7, 3], [8, 3, 0]]


@pytest.mark.parametrize("budget", [1, 17, 256, 10_000])
def test_batches_hold_every_example_once_and_are_closed_no_sooner_than_at_the_budget(examples, budget):
    batches = fill_batches(examples, budget)
    assert [each for batch in batches for each in batch] == examples
    for batch in batches:
        assert len(batch) * max(e.length for e in batch) <= budget or len(batch) == 1
    for batch, after in zip(batches, batches[1:], strict=False):
        assert (len(batch) + 1) * max(e.length for e in [*batch, after[0]]) > budget


def test_missing_and_unreadable_samples_are_refused(tmp_path, tokenizer):
    with pytest.raises(DataError, match="brings no sentence pairs along"):
        read_samples(tmp_path, tokenizer, 24)
    (tmp_path / "samples.tsv").write_bytes(b"\xff\xfe\x00 no pair at all\n")
    with pytest.raises(DataError, match="no usable pair"):
        read_samples(tmp_path, tokenizer, 24)
    write_pairs(tmp_path / "samples.tsv", make_pairs(MOST_SAMPLES + 50, 1))
    assert len(read_samples(tmp_path, tokenizer, 24)) == MOST_SAMPLES


def test_an_opened_batch_is_what_training_gets(tokenizer):
    batch = make_examples([("red dog.", "rot Hund."), ("a small old car.", "klein alt Wagen.")], tokenizer, 24)
    source, fed, following = collate(batch, tokenizer.pad_id)
    inside = view_batch(source, fed, following, [(len(e.source), len(e.target) - 1) for e in batch], tokenizer)
    for tokens, ids in (
        (inside.source_tokens, source),
        (inside.decoder_input_tokens, fed),
        (inside.target_tokens, following),
    ):
        assert tokens == tuple(tuple(map(tokenizer.piece_text, row)) for row in ids.tolist())
    for tokens, lengths in ((source, inside.source_lengths), (following, inside.target_lengths)):
        assert tuple((tokens != 0).sum(dim=1).tolist()) == tuple(lengths)
    np.testing.assert_array_equal(inside.source_mask, padding_mask(source, 0).numpy())
    np.testing.assert_array_equal(inside.target_padding_mask, padding_mask(fed, 0).numpy())
    np.testing.assert_array_equal(inside.causal_mask, causal_mask(fed.shape[1]).numpy())
    np.testing.assert_array_equal(inside.target_mask, target_mask(fed, 0).numpy())
    with pytest.raises(ValueError, match="read-only"):
        inside.source_mask[:] = True
