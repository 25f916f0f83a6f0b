"""Several corpora as one: the files of a configuration, and the pairs of an epoch."""

import gzip
import operator
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.tiny import make_pairs, tiny_experiment, write_pairs, write_toml

from transformer.config import TokenizerConfig, load_experiment
from transformer.data.batching import epoch_batches, make_examples
from transformer.data.mixture import CorpusFile, MixedExamples, Mixture, WeightedPairs, named_files, turns
from transformer.data.pairs import Pairs
from transformer.data.tokenizer import Tokenizer
from transformer.errors import ConfigError, DataError
from transformer.training.loader import Update


@settings(deadline=None, derandomize=True, database=None, max_examples=20)
@given(st.integers(1, 40), st.sampled_from(["2", "1", "0.5", "1.5", "0.3", "2.7", "0.001"]), st.text(max_size=3))
def test_after_any_number_of_epochs_each_example_was_used_as_often_as_any_other_but_for_one(count, weight, seed):
    uses, exact = Counter(dict.fromkeys(range(count), 0)), Fraction(weight)
    for epoch in range(23):
        indices = turns(count, float(weight), epoch, seed)
        assert indices == sorted(indices) == turns(count, float(weight), epoch, seed)
        uses.update(indices)
        assert max(uses.values()) - min(uses.values()) <= 1
        assert abs(uses.total() - (epoch + 1) * exact * count) <= Fraction(1, 2), "as many as the weight says"
    assert turns(60, 0.5, 4, "5") != turns(60, 0.5, 4, "6") and turns(60, 0.5, 4, "5") != turns(60, 0.5, 5, "5")


def mixture(*weights: float) -> Mixture:
    """Return corpora of 30, 31, ... pairs, no pair in two of them."""
    parts = []
    for number, weight in enumerate(weights):
        pairs = [(f"{source} {number}", target) for source, target in make_pairs(30 + number, number)]
        parts.append(WeightedPairs(Pairs(pairs, range(1, 31 + number), f"{number}.tsv"), weight, f"{number}.tsv"))
    return Mixture(parts)


def test_an_epoch_holds_each_corpus_by_its_weight(tokenizer):
    pairs = make_pairs(50, 3)
    single = MixedExamples(Mixture([WeightedPairs(pairs)]), tokenizer, 24)
    assert single.of_epoch(2, seed=9) == single.all == make_examples(pairs, tokenizer, 24)
    examples = MixedExamples(mixture(2, 0.5, 1.0), tokenizer, 24)
    for epoch in range(3):
        uses = Counter(example.files[0] for example in examples.of_epoch(epoch, seed=3))
        assert (uses["0.tsv"], uses["2.tsv"]) == (60, 32) and uses["1.tsv"] in (15, 16)
    assert len(examples.all) == 30 + 31 + 32 == len(list(mixture(2, 0.5, 1.0)))
    assert examples.describe() == [
        {"file": "0.tsv", "weight": 2, "pairs": 30},
        {"file": "1.tsv", "weight": 0.5, "pairs": 31},
        {"file": "2.tsv", "weight": 1.0, "pairs": 32},
    ]


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_dropout_cuts_the_sources_alone_anew_in_each_epoch(kind, checkpoints):
    lines = (checkpoints / "en-de" / "samples.tsv").read_text("utf-8").replace("\n", "\t").split("\t")
    tokenizer = Tokenizer.train(lines, TokenizerConfig(300, model_type=kind))

    def sources(epoch: int, seed: int, dropout: float) -> list[tuple[int, ...]]:
        examples = MixedExamples(mixture(1, 0.5), tokenizer, 48, dropout).of_epoch(epoch, seed)
        whole = MixedExamples(mixture(1, 0.5), tokenizer, 48).of_epoch(epoch, seed)
        assert [replace(one, source=()) for one in examples] == [replace(one, source=()) for one in whole]
        texts = [[tokenizer.decode(one.source) for one in each] for each in (examples, whole)]
        assert texts[0] == texts[1], "other pieces of the same text"
        assert all(one.source[-1] == tokenizer.end_id for one in examples)
        return [one.source for one in examples]

    cut = sources(1, 7, 0.4)
    assert cut == sources(1, 7, 0.4), "the same seed and epoch give the same pieces"
    assert cut[:30] != sources(2, 7, 0.4)[:30] and cut[:30] != sources(1, 8, 0.4)[:30]
    whole = sources(1, 7, 0.0)
    assert sum(map(len, cut)) > sum(map(len, whole)), "other pieces are shorter ones"
    if kind == "unigram":
        assert 0.15 < sum(map(operator.ne, cut, whole)) / len(cut) < 0.4, "the share of sources that are drawn"
    longest = max(example.length for example in MixedExamples(mixture(1), tokenizer, 48).all)
    limited = MixedExamples(mixture(1), tokenizer, longest, 0.9).of_epoch(0, seed=1)
    assert max(example.length for example in limited) <= longest, "one that would be too long keeps its pieces"


def test_a_batch_to_blame_is_named_with_the_files_of_its_lines(tokenizer):
    examples = MixedExamples(mixture(1, 1), tokenizer, 24).of_epoch(0, seed=1)
    by_file = {example.places[0]: example for example in examples}
    batch = [by_file["1.tsv", 10], by_file["0.tsv", 12], by_file["1.tsv", 9]]
    assert Update([batch], 4, 2, 8).describe(0) == (
        "step 4 (epoch 2, batch 8, lines 0.tsv:12, 1.tsv:9, 1.tsv:10 of the corpus)"
    )
    (joined,) = {e.places for b in epoch_batches(batch[:2], 99, 1.0, 48, seed=1) for e in b}
    assert sorted(joined) == [("0.tsv", 12), ("1.tsv", 10)]


def write_config(folder: Path, files: str) -> Path:
    """Write the tiny configuration with these lines in its table [data]."""
    path = write_toml(folder / "tiny.toml", tiny_experiment())
    text = path.read_text(encoding="utf-8").replace("[data]\n", f"[data]\n{files}\n")
    path.write_text(text, encoding="utf-8")
    return path


def test_files_are_named_with_their_weights_relative_to_the_configuration(tmp_path):
    lines = 'train = [{file = "a.tsv", weight = 2}, {file = "/b/c.tsv", weight = 0.5}, {file = "d.tsv"}]\n'
    config = write_config(tmp_path, lines + 'valid = "e/f.tsv"')
    assert load_experiment(config) == tiny_experiment(), "files are no part of an experiment"
    files = [CorpusFile(f"{tmp_path}/a.tsv", 2), CorpusFile("/b/c.tsv", 0.5), CorpusFile(f"{tmp_path}/d.tsv", 1)]
    assert named_files(config) == (files, tmp_path / "e/f.tsv")
    assert named_files(write_config(tmp_path, 'train = "a.tsv"')) == ([CorpusFile(f"{tmp_path}/a.tsv")], None)
    assert named_files(write_config(tmp_path, "")) == ([], None)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('train = [{file = "a.tsv", weight = 0}]', r"weight of a.tsv must be a positive number, .* not 0\.$"),
        ('train = [{file = "a.tsv", wieght = 2}]', r"Unknown setting 'wieght' in \[data.train\]; choose from file, w"),
        ('train = ["a.tsv"]', r"`train` in \[data\] must be a file or a list such as"),
        ('trian = "a.tsv"', r"Unknown setting 'trian' in \[data\]; choose from name, .*, train, valid"),
    ],
)
def test_impossible_files_and_weights_are_refused(tmp_path, line, message):
    config = write_config(tmp_path, line)
    with pytest.raises(ConfigError, match=message):
        load_experiment(config)
        named_files(config)


def test_the_name_of_a_lines_origin_is_read_over_and_a_fourth_column_is_none(tmp_path, caplog):
    plain, named = write_pairs(tmp_path / "a.tsv", make_pairs(3, 1)), tmp_path / "b.tsv.gz"
    named.write_bytes(gzip.compress(b"one\teins\twiki\ntwo\tzwei\na\tb\tc\td\nsix\tsechs\t\n"))
    read = Mixture.read([CorpusFile(str(plain), 3), CorpusFile(str(named))])
    assert [part.weight for part in read.parts] == [3, 1]
    assert list(read) == [*make_pairs(3, 1), ("one", "eins"), ("two", "zwei"), ("six", "sechs")]
    assert "skipped 1 line: 1 with more than two tabs (line 3)" in caplog.text
    with pytest.raises(DataError, match=r"The corpus gone\.tsv cannot be read: No such file or directory\.$"):
        Mixture.read([CorpusFile("gone.tsv")])
    with pytest.raises(ConfigError, match="no corpus"):
        Mixture.read([])
