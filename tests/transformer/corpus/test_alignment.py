"""Word alignment: words from tokens, both readings of a row, gold sets, and error rates as NLTK computes them."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.translate import Alignment
from nltk.translate.metrics import alignment_error_rate
from support.tiny import gold_pair, tiny_gold
from support.tolerance import near

from transformer.corpus.alignment.aligners import Aligner, AlignmentCounts, Method, aligners, aligners_of
from transformer.corpus.alignment.gold import GoldPair, GoldSet, parse_links, read_gold
from transformer.corpus.alignment.links import (
    Direction,
    Reading,
    count_links,
    error_rate,
    find_links,
    find_symmetric_links,
    link_table,
)
from transformer.corpus.alignment.measure import align_words, alignment_maps, measure_alignment
from transformer.corpus.alignment.table import find_alignment, load_alignment, save_alignment, standard_errors, tabulate
from transformer.corpus.alignment.words import join_words, split_text, tokenize_pair, tokens_of_words
from transformer.data.tokenizer import Piece
from transformer.errors import CheckpointError, DataError, EmptyTextError, TooLongError
from transformer.interpret.attention_block import block_parameters, record_stages
from transformer.interpret.attribution import norm_weighted
from transformer.interpret.rollout import alti

LINKS = st.frozensets(st.tuples(st.integers(0, 8), st.integers(0, 6)), max_size=12)


@given(st.lists(st.tuples(LINKS, LINKS, LINKS), min_size=1, max_size=3))
def test_error_rates_are_those_of_nltk_for_all_sentences_together(sentences):
    """To NLTK they are one long sentence, whose words are counted on."""
    counts, together = np.zeros(4, dtype=int), [set(), set(), set()]
    for number, (links, sure, more) in enumerate(sentences):
        parts = links, sure, sure | more
        counts += count_links(*(link_table(each, 9, 7) for each in parts))
        for whole, part in zip(together, parts, strict=True):
            whole |= {(10 * number + i, 10 * number + j) for i, j in part}
    links, sure, possible = map(Alignment, together)
    expected = alignment_error_rate(sure, links, possible) if links or sure else np.nan
    assert float(error_rate(counts)) == pytest.approx(expected, nan_ok=True)


# Three source words of which the second has two tokens, and an end; two target words, the first of two tokens, and an
# end. Row t predicts target token t and is fed the one before it.
SOURCE = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)
TARGET = np.array([[1, 0], [1, 0], [0, 1], [0, 0]], dtype=bool)
MAP = np.array(
    [
        [0.5, 0.1, 0.2, 0.1, 0.1],  # predicts the first word's first token: word 0
        [0.1, 0.1, 0.4, 0.3, 0.1],  # predicts its second token, fed its first: word 1
        [0.0, 0.3, 0.1, 0.2, 0.4],  # predicts the second word, fed the first's second token: of words, word 1
        [0.1, 0.0, 0.0, 0.2, 0.7],  # predicts the end, fed the second word: of words, word 2
    ]
)


def linked(links: np.ndarray) -> set[tuple[int, int]]:
    """Return source and target word of each link."""
    return {(int(i), int(j)) for j, i in np.argwhere(links)}


def test_a_row_is_read_by_its_output_token_or_by_its_input_token():
    assert linked(find_links(MAP, TARGET, SOURCE, Reading.OUTPUT)) == {(0, 0), (1, 0), (1, 1)}
    assert linked(find_links(MAP, TARGET, SOURCE, Reading.INPUT)) == {(1, 0), (2, 1)}


def test_source_words_are_linked_by_their_columns_and_both_directions_combined():
    attention = np.random.default_rng(5).random((6, 5))
    target, source = np.eye(6, dtype=bool), np.eye(5, dtype=bool)
    by = {each: linked(find_symmetric_links(attention, target, source, Reading.OUTPUT, each)) for each in Direction}
    assert by["target"] == {(int(key), row) for row, key in enumerate(attention.argmax(axis=1))}
    assert by["source"] == {(key, int(row)) for key, row in enumerate(attention.argmax(axis=0))}
    assert by["both"] == by["target"] & by["source"] and by["either"] == by["target"] | by["source"]
    fed = linked(find_symmetric_links(attention, target, source, Reading.INPUT, Direction.SOURCE))
    assert fed == {(key, int(row) - 1) for key, row in enumerate(attention[1:].argmax(axis=0) + 1)}


def test_a_token_is_of_each_word_of_which_it_has_a_character():
    """The text "ab cd." in pieces "ab", " c", "d.", and one that covers nothing."""
    pieces = [Piece(1, "▁ab", 0, 2), Piece(2, "▁c", 2, 4), Piece(3, "d.", 4, 6), Piece(4, "x", 6, 6)]
    table = tokens_of_words(pieces, [(0, 2), (3, 5), (5, 6)])
    assert table.tolist() == [[True, False, False], [False, True, False], [False, True, True], [False] * 3]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("It is late .", "It is late."),
        ("Near the neighbour 's , too !", "Near the neighbour's, too!"),
        ("J' ai besoin d' une paire .", "J'ai besoin d'une paire."),
        ("Er rief ( „ halt “ ) : - 5 %", "Er rief („halt“): - 5%"),
    ],
)
def test_words_become_a_text_as_people_write_it(words, text):
    joined = join_words(words.split())
    assert joined.text == text and joined.words == tuple(words.split())
    spaced = join_words(words.split(), spaced=True)
    assert spaced.text == words and spaced.words == tuple(words.split())
    assert split_text(f" {words}  ").words == tuple(words.split())


def test_the_maps_are_those_of_trace_norms_and_alti(shipped):
    """Compare with a trace, its means, `norm_weighted` and `alti`."""
    pair = tokenize_pair(shipped.tokenizer, split_text("The dog sleeps."), split_text("Der Hund schläft."))
    maps = dict(zip(aligners_of(shipped.model), alignment_maps(shipped.model, pair), strict=True))
    ids, trace = (pair.source_ids, pair.decoder_input), shipped.trace("The dog sleeps.", target="Der Hund schläft.")
    rollout, blocks = alti(shipped.model, *ids), []
    for layer, heads in enumerate(trace.cross):
        blocks.append(
            (record_stages(shipped.model, *ids, "cross", layer), block_parameters(shipped.model, "cross", layer))
        )
        for head, weights in enumerate(heads):
            assert maps.pop(Aligner(Method.HEAD, layer, head)) == near(weights)
        assert maps.pop(Aligner(Method.LAYER, layer)) == near(heads.mean(axis=0))
        contributed = rollout.across[layer, :, : len(pair.source_ids)]
        np.testing.assert_allclose(maps.pop(Aligner(Method.ALTI, layer)), contributed, atol=1e-9)
        assert maps.pop(Aligner(Method.NORMS, layer))[2] == near(norm_weighted(blocks[layer:], 2))
    assert maps.pop(Aligner(Method.ALL)) == near(trace.cross.mean(axis=(0, 1)))
    assert maps.pop(Aligner(Method.NORMS))[1] == near(norm_weighted(blocks, 1)) and not maps


def test_counts_are_those_of_the_links_of_each_sentence(translator):
    """Count in plain Python, with links as sets."""
    pairs = [
        gold_pair("big red dog.", "groß rot Hund."),
        GoldPair(("old", "-", "cat", "."), ("alt", "Katze", "!"), frozenset({(0, 0)}), frozenset({(0, 0), (1, 2)})),
    ]
    counted = measure_alignment(translator.model, translator.tokenizer, GoldSet("two", tuple(pairs)))
    for number, pair in enumerate(pairs):
        tokenized = tokenize_pair(translator.tokenizer, join_words(pair.source), join_words(pair.target))
        maps = alignment_maps(translator.model, tokenized)
        for (at, one), (nth, reading) in itertools.product(enumerate(maps), enumerate(Reading)):
            links = linked(find_links(one, tokenized.target, tokenized.source, reading))
            expected = [len(links & pair.sure), len(links & pair.possible), len(links), len(pair.sure)]
            assert counted.counts[number, at, nth, 0].tolist() == expected
        # Without marks: row by row the largest weight among the tokens of words, in rows of tokens of words.
        keys, rows = (
            [(token, int(of.argmax())) for token, of in enumerate(table) if of.any() and words[of.argmax()].isalpha()]
            for table, words in ((tokenized.source, pair.source), (tokenized.target, pair.target))
        )
        for at, one in enumerate(maps):
            links = {(max(keys, key=lambda key: one[row, key[0]])[1], word) for row, word in rows}
            words = {(i, j) for i, j in pair.sure if pair.source[i].isalpha() and pair.target[j].isalpha()}
            assert counted.counts[number, at, 0, 1].tolist() == [*[len(links & words)] * 2, len(links), len(words)]
    frame, at = counted.to_frame(), aligners_of(translator.model).index(Aligner(Method.HEAD, 1, 2))
    rows = frame[(frame["method"] == "head") & (frame["layer"] == 1) & (frame["head"] == 2)]
    rows = rows[(rows["reading"] == "input") & ~rows["punctuation"]]
    assert (
        rows[["sure_hits", "possible_hits", "links", "sure"]].to_numpy().tolist()
        == counted.counts[:, at, 1, 1].tolist()
    )


def test_a_pair_that_is_too_long_is_left_out_and_named(translator, caplog):
    long = GoldPair(("red",) * 90, ("rot",) * 3, frozenset({(0, 0)}), frozenset({(0, 0)}), line=2)
    gold = GoldSet("x", (gold_pair("red dog.", "rot Hund."), long))
    done: list[int] = []
    counted = measure_alignment(translator.model, translator.tokenizer, gold, progress=done.append)
    assert len(counted.counts) == 1 and done == [1, 2] and "(line 2)" in caplog.text
    with pytest.raises(DataError, match="No pair of the gold set x fits the model: 1 line"):
        measure_alignment(translator.model, translator.tokenizer, GoldSet("x", (long,)))


def test_a_visitors_words_are_aligned_by_one_aligner(translator):
    source, target = split_text("big dog."), split_text("groß Hund.")
    pair = tokenize_pair(translator.tokenizer, source, target)
    maps = alignment_maps(translator.model, pair)
    for aligner in (Aligner(Method.HEAD, 1, 0), Aligner(Method.ALTI, 1)):
        one = maps[aligners_of(translator.model).index(aligner)]
        links = align_words(translator.model, translator.tokenizer, source, target, aligner, "output")
        assert set(links) == linked(find_links(one, pair.target, pair.source, "output")) and links
    with pytest.raises(EmptyTextError, match="The target has no word"):
        align_words(translator.model, translator.tokenizer, source, split_text(" "), Aligner(Method.ALL))
    with pytest.raises(TooLongError, match="The source has [0-9]+ tokens; the model has 20"):
        align_words(translator.model, translator.tokenizer, split_text("red " * 64), target, Aligner(Method.ALL))
    with pytest.raises(ValueError, match="no layer 9, head 1"):
        align_words(translator.model, translator.tokenizer, source, target, Aligner(Method.HEAD, 8, 0))


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
