"""Gold sets, and tables of alignment error rates: halves, standard errors, the chosen head, and files."""

from pathlib import Path

import numpy as np
import pytest
from support.tiny import tiny_gold

from transformer.corpus.alignment.aligners import Aligner, AlignmentCounts, Method, aligners
from transformer.corpus.alignment.gold import GoldSet, parse_links, read_gold
from transformer.corpus.alignment.links import Reading
from transformer.corpus.alignment.measure import measure_alignment
from transformer.corpus.alignment.table import find_alignment, load_alignment, save_alignment, standard_errors, tabulate
from transformer.errors import CheckpointError, DataError

GOLD = GoldSet("tiny", tuple(tiny_gold(7, 4)))


@pytest.fixture(scope="module")
def counts(translator) -> AlignmentCounts:
    return measure_alignment(translator.model, translator.tokenizer, GOLD)


@pytest.fixture(scope="module")
def table(counts):
    return tabulate(counts, weights="abc", seed=3)


def made(rows: list[list[tuple[int, int]]]) -> AlignmentCounts:
    """Make counts of two heads from [sentences][heads] of (sure hits, links), with four sure links in each sentence.

    Both marks are alike; by its input token no link of a head is sure.
    """
    table = np.zeros((len(rows), len(aligners(1, 2)), 2, 2, 4), dtype=int)
    for sentence, heads in enumerate(rows):
        for head, (hits, links) in enumerate(heads):
            table[sentence, head, 0] = hits, hits, links, 4
            table[sentence, head, 1] = 0, 0, links, 4
    return AlignmentCounts("made", aligners(1, 2), tuple(range(1, len(rows) + 1)), table)


def test_halves_do_not_overlap_and_are_all_sentences(counts, table):
    """Four of seven sentences, and the other three."""
    np.testing.assert_array_equal(table.halves[0], sum(counts.counts[at] for at in (0, 2, 4, 6)))
    np.testing.assert_array_equal(table.halves[1], sum(counts.counts[at] for at in (1, 3, 5)))
    assert table.sentences == 7 and table.weights == "abc" and table.gold == "tiny"


def test_the_head_is_chosen_on_one_half_and_judged_on_the_other():
    """The first head is best in the first and third sentence, the second in the others."""
    chosen = tabulate(made([[(4, 4), (0, 4)], [(1, 4), (3, 4)], [(4, 4), (0, 4)], [(1, 4), (3, 4)]])).chosen_heads()
    assert len(chosen) == 8
    first, second = (each for each in chosen if each.punctuation and each.reading == "output")
    assert (first.half, first.head, first.there, first.elsewhere) == (0, Aligner(Method.HEAD, 0, 0), 0.0, 0.75)
    assert (second.half, second.head, second.there, second.elsewhere) == (1, Aligner(Method.HEAD, 0, 1), 0.25, 1.0)
    assert all(each.there == each.elsewhere == 1 for each in chosen if each.reading == "input")
    whole = made([[(4, 4), (0, 4)], [(4, 4), (1, 4)], [(4, 4), (0, 4)], [(0, 4), (1, 4)]])
    whole.counts[:, 2:] = 4  # the means are without a fault, and only heads are chosen
    table = tabulate(whole)
    first = next(each for each in table.chosen_heads() if each.reading == "output")
    assert (first.half, first.head) == (0, Aligner(Method.HEAD, 0, 0))
    assert table.errors[0, 0, 0, 0] == 0 < first.standard_error == table.errors[1, 0, 0, 0], "of the other half"
    assert table.best_head() == (Aligner(Method.HEAD, 0, 0), Reading.OUTPUT)
    assert table.rate(Aligner(Method.ALL), "input") == (0.0, 0.0)


def test_a_standard_error_is_that_of_a_mean_where_the_rate_is_one():
    """Sentences of equal size, all or nothing of each right: a share, of standard error sqrt(p (1 - p) / n)."""
    right = np.arange(200) % 4 == 0
    counts = np.stack([4 * right, 4 * right, np.full(200, 4), np.full(200, 4)], axis=1)[:, None]
    assert standard_errors(counts, seed=1)[0] == pytest.approx(np.sqrt(0.25 * 0.75 / 200), rel=0.1)


def test_a_seed_draws_the_same_again(counts):
    one, again, other = (tabulate(counts, seed=seed).errors for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert (one != other).any() and (one >= 0).all()
    assert not tabulate(made([[(1, 4), (2, 4)]])).errors.any(), "one sentence has no standard error"
    assert not standard_errors(np.zeros((5, 2, 4), dtype=int)).any(), "nor have sentences without links"


def test_reading_inverts_writing(translator, shipped, table, tmp_path):
    assert find_alignment(tmp_path, translator.model) is None
    save_alignment(tmp_path / "alignment.json", table)
    again = find_alignment(tmp_path, translator.model)
    assert again is not None and (again.gold, again.sentences, again.weights) == ("tiny", 7, "abc")
    assert again.aligners == table.aligners
    np.testing.assert_array_equal(again.halves, table.halves)
    np.testing.assert_allclose(again.errors, table.errors, atol=1e-5)
    with pytest.raises(CheckpointError, match="its heads are not those of the model"):
        load_alignment(tmp_path / "alignment.json", shipped.model)


def write(folder: Path, source: str, target: str, links: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in (("source", source), ("target", target), ("links", links)):
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return folder


def test_links_are_sure_or_possible():
    assert parse_links("0-1 2?0 3p3") == (frozenset({(0, 1)}), frozenset({(0, 1), (2, 0), (3, 3)}))
    assert parse_links("1-2 3?1", one_based=True) == (frozenset({(0, 1)}), frozenset({(0, 1), (2, 0)}))
    assert parse_links("0-1 2?0", target_first=True) == (frozenset({(1, 0)}), frozenset({(1, 0), (0, 2)}))
    assert parse_links("  ") == (frozenset(), frozenset())


def test_a_set_has_its_words_and_links(tmp_path):
    """The files have a byte-order mark, line ends of Windows, and no newline at the end."""
    folder = write(tmp_path / "mine", "\ufeffa big dog\r\nyes .", "ein Hund\r\nja .", "0-0 2-1 1?1\r\n\n")
    gold = read_gold(folder)
    assert gold.name == "mine" and [pair.line for pair in gold.pairs] == [1, 2]
    first, second = gold.pairs
    assert first.source == ("a", "big", "dog") and first.target == ("ein", "Hund")
    assert first.sure == {(0, 0), (2, 1)} and first.possible == {(0, 0), (2, 1), (1, 1)}
    assert second.source == ("yes", ".") and not second.possible


@pytest.mark.parametrize(
    ("source", "target", "links", "message"),
    [
        ("a\nb", "c", "0-0", "as many lines in each file: source.txt has 2, target.txt has 1, links.txt has 1"),
        ("a\n\n", "b\nc\n", "0-0\n0-0\n", "Line 2 of .*source.txt has 0 words"),
        ("a " * 251, "b", "0-0", "Line 1 of .*source.txt has 251 words: 1 to 250"),
        ("a b", "c", "0-0 1-1", "Line 1 of .*links.txt: a link to word 1 of the target, which has 1 word "),
        ("a b", "c", "2-0", r"to word 2 of the source, which has 2 words \(do these links count from 1\?\)"),
        ("a b", "c", "7-0", r"to word 7 of the source, which has 2 words\."),
        ("a", "b", "0:0", "'0:0' is no link such as 3-4"),
        ("a", "b", "٠-0", "is no link"),
        ("a", "b", "0?0", "has no sure link"),
        ("<!DOCTYPE html>\n<html>", "b", "0-0", "source.txt is a web page"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, source, target, links, message):
    with pytest.raises(DataError, match=message):
        read_gold(write(tmp_path / "gold", source, target, links))


def test_missing_and_binary_files_and_links_from_zero_for_one_are_refused(tmp_path):
    folder = write(tmp_path / "gold", "a", "b", "0-0")
    with pytest.raises(DataError, match="is missing: a gold set is a folder of source.txt, target.txt, links.txt"):
        read_gold(tmp_path)
    (folder / "target.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="target.txt is not in UTF-8"):
        read_gold(folder)
    (folder / "links.txt").write_text("0-1")
    (folder / "target.txt").write_text("b")
    with pytest.raises(DataError, match="'0-1' counts from 0, and links that count from 1 are"):
        read_gold(folder, one_based=True)
