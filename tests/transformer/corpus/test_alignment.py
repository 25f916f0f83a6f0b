"""Words from tokens, both readings of a row, and error rates: by hand, and as NLTK computes them."""

import random

import numpy as np
import pytest
from nltk.translate import Alignment
from nltk.translate.metrics import alignment_error_rate
from support.tiny import gold_pair, tiny_gold
from support.tolerance import near

from transformer.corpus.alignment.aligners import Aligner, Method, aligners, aligners_of
from transformer.corpus.alignment.gold import GoldPair, GoldSet, pharaoh
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
from transformer.corpus.alignment.words import is_mark, join_words, split_text, tokenize_pair, tokens_of_words
from transformer.data.tokenizer import Piece
from transformer.errors import DataError, EmptyTextError, TooLongError
from transformer.interpret.activations import record
from transformer.interpret.attention_block import block_parameters, record_stages
from transformer.interpret.attribution import norm_weighted
from transformer.interpret.rollout import alti


def random_links(generator: random.Random, sizes: tuple[int, int], most: int) -> frozenset[tuple[int, int]]:
    count = generator.randint(0, most)
    return frozenset((generator.randrange(sizes[0]), generator.randrange(sizes[1])) for _ in range(count))


def test_error_rates_are_those_of_nltk_in_a_thousand_random_cases():
    generator, compared = random.Random(0), 0
    while compared < 1000:
        sizes = generator.randint(1, 9), generator.randint(1, 7)
        found, sure, more = (random_links(generator, sizes, most) for most in (12, 10, 8))
        if not found and not sure:
            continue
        expected = alignment_error_rate(Alignment(sure), Alignment(found), Alignment(sure | more))
        counts = count_links(*(link_table(each, *sizes) for each in (found, sure, sure | more)))
        assert abs(float(error_rate(counts)) - expected) <= 1e-9
        compared += 1


def test_the_rate_of_many_sentences_is_that_of_their_links_together():
    """As one long sentence, each one's words counted on from the one before."""
    generator, counts = random.Random(1), []
    together: list[set[tuple[int, int]]] = [set(), set(), set()]
    for number in range(50):
        found, sure, more = (random_links(generator, (6, 4), 9) for _ in range(3))
        counts.append(count_links(*(link_table(each, 6, 4) for each in (found, sure, sure | more))))
        for whole, part in zip(together, (found, sure, sure | more), strict=True):
            whole |= {(10 * number + i, 10 * number + j) for i, j in part}
    found, sure, possible = map(Alignment, together)
    assert float(error_rate(np.sum(counts, axis=0))) == pytest.approx(alignment_error_rate(sure, found, possible))


def test_without_any_link_there_is_no_rate():
    assert np.isnan(error_rate(np.zeros(4, dtype=int)))


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
    """Source and target word of each link."""
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


def test_many_maps_are_linked_as_each_alone():
    maps = np.random.default_rng(3).random((2, 5, 4, 5))
    for reading in Reading:
        together = find_links(maps, TARGET, SOURCE, reading)
        for place in np.ndindex(2, 5):
            assert linked(together[place]) == linked(find_links(maps[place], TARGET, SOURCE, reading))


def test_what_is_of_no_word_can_neither_be_linked_nor_chosen():
    of_words = SOURCE & [True, False, False]  # only the first word is left
    assert linked(find_links(MAP, TARGET & [False, True], of_words, Reading.OUTPUT)) == {(0, 1)}
    assert not find_links(MAP, TARGET, SOURCE & False, Reading.OUTPUT).any()


def test_a_token_is_of_each_word_of_which_it_has_a_character():
    """ "ab cd." in pieces "ab", " c", "d.", and one that covers nothing."""
    pieces = [Piece(1, "▁ab", 0, 2), Piece(2, "▁c", 2, 4), Piece(3, "d.", 4, 6), Piece(4, "x", 6, 6)]
    table = tokens_of_words(pieces, [(0, 2), (3, 5), (5, 6)])
    assert table.tolist() == [[True, False, False], [False, True, False], [False, True, True], [False] * 3]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("It is late .", "It is late."),
        ("Near the neighbour 's , too !", "Near the neighbour's, too!"),
        ("J' ai besoin d' une paire .", "J'ai besoin d'une paire."),
        ("She said ( twice ) : no", "She said (twice): no"),
        ('He said " yes " and left', 'He said "yes" and left'),
        ("Er rief „ halt “ und ging", "Er rief „halt“ und ging"),
        ("- 5 %", "- 5%"),
        (".", "."),
    ],
)
def test_words_become_a_text_as_people_write_it(words, text):
    joined = join_words(words.split())
    assert joined.text == text and joined.words == tuple(words.split())
    spaced = join_words(words.split(), spaced=True)
    assert spaced.text == words and spaced.words == tuple(words.split())
    assert split_text(f" {words}  ").words == tuple(words.split())


def test_marks_are_words_without_letters_or_digits():
    assert [is_mark(word) for word in (".", "--", "«", "l'", "5", "ß", "…")] == [True, True, True, *[False] * 3, True]


def test_tokens_of_a_pair_are_where_the_model_reads_them(shipped):
    pair = tokenize_pair(shipped.tokenizer, join_words(["I", "love", "owls", "."]), split_text("Ich liebe Eulen."))
    trace = shipped.trace("I love owls.", target="Ich liebe Eulen.")
    assert pair.source_ids == trace.source_ids and pair.target_ids == trace.target_ids
    assert pair.decoder_input == trace.decoder_input_ids
    for table, tokens, words in (
        (pair.source, trace.source_tokens, ["I", "love", "owls", "."]),
        (pair.target, trace.target_tokens, ["Ich", "liebe", "Eulen."]),
    ):
        joined = [
            "".join(token for token, of in zip(tokens, column, strict=True) if of).replace("▁", "")
            for column in table.T
        ]
        assert joined == words
        assert not table[-1].any(), "the end is of no word"


def test_the_maps_are_those_that_are_computed_elsewhere(shipped):
    """Heads and their means of a trace, norms of `norm_weighted`, contributions of `alti`."""
    pair = tokenize_pair(shipped.tokenizer, split_text("The dog sleeps."), split_text("Der Hund schläft."))
    maps = dict(zip(aligners_of(shipped.model), alignment_maps(shipped.model, pair), strict=True))
    trace, (layers, heads) = shipped.trace("The dog sleeps.", target="Der Hund schläft."), (3, 8)
    assert trace.cross.shape[:2] == (layers, heads) and len(maps) == layers * heads + 3 * layers + 2
    rollout = alti(shipped.model, pair.source_ids, pair.decoder_input)
    blocks = [
        (
            record_stages(shipped.model, pair.source_ids, pair.decoder_input, "cross", layer),
            block_parameters(shipped.model, "cross", layer),
        )
        for layer in range(layers)
    ]
    for layer in range(layers):
        for head in range(heads):
            assert maps[Aligner(Method.HEAD, layer, head)] == near(trace.cross[layer, head])
        assert maps[Aligner(Method.LAYER, layer)] == near(trace.cross[layer].mean(axis=0))
        contributed = rollout.across[layer, :, : len(pair.source_ids)]
        np.testing.assert_allclose(maps[Aligner(Method.ALTI, layer)], contributed, atol=1e-9)
        norms = maps[Aligner(Method.NORMS, layer)]
        for row in range(len(norms)):
            assert norms[row] == near(norm_weighted(blocks[layer : layer + 1], row))
    assert maps[Aligner(Method.ALL)] == near(trace.cross.mean(axis=(0, 1)))
    assert maps[Aligner(Method.NORMS)][1] == near(norm_weighted(blocks, 1))


def test_counts_are_those_of_the_links_of_each_sentence(translator):
    """The links of each aligner as sets, compared with the gold ones in plain Python."""
    pairs = [
        gold_pair("big red dog.", "groß rot Hund."),
        GoldPair(("old", "-", "cat", "."), ("alt", "Katze", "!"), frozenset({(0, 0)}), frozenset({(0, 0), (1, 2)})),
    ]
    counted = measure_alignment(translator.model, translator.tokenizer, GoldSet("two", tuple(pairs)))
    for number, pair in enumerate(pairs):
        tokenized = tokenize_pair(translator.tokenizer, join_words(pair.source), join_words(pair.target))
        maps = alignment_maps(translator.model, tokenized)
        for (at, one), (nth, reading) in ((a, r) for a in enumerate(maps) for r in enumerate(Reading)):
            found = linked(find_links(one, tokenized.target, tokenized.source, reading))
            expected = [len(found & pair.sure), len(found & pair.possible), len(found), len(pair.sure)]
            assert counted.counts[number, at, nth, 0].tolist() == expected


def test_without_punctuation_marks_are_neither_counted_nor_chosen(translator):
    """Row by row: the largest weight among the tokens of words, in rows of tokens of words."""
    links = frozenset({(0, 0), (1, 1), (2, 2)})
    pair = GoldPair(("red", ".", "dog", "."), ("rot", "!", "Hund"), links, links)
    counts = measure_alignment(translator.model, translator.tokenizer, GoldSet("x", (pair,))).counts[0]
    tokenized = tokenize_pair(translator.tokenizer, join_words(pair.source), join_words(pair.target))
    of_words = [token for token, words in enumerate(tokenized.source) if words[0] or words[2]]
    assert (tokenized.source[of_words][:, [1, 3]] == 0).all(), "no token of this pair is of a word and of a mark"
    for at, one in enumerate(alignment_maps(translator.model, tokenized)):
        found = {
            (int(tokenized.source[max(of_words, key=lambda token: row[token])].argmax()), int(words.argmax()))
            for row, words in zip(one, tokenized.target, strict=True)
            if words[0] or words[2]
        }
        right = len(found & {(0, 0), (2, 2)})
        assert counts[at, 0, 1].tolist() == [right, right, len(found), 2]


def test_a_frame_of_sentences_has_the_counts(translator):
    gold = GoldSet("x", tuple(tiny_gold(3, 5)))
    counted = measure_alignment(translator.model, translator.tokenizer, gold)
    frame = counted.to_frame()
    assert len(frame) == counted.counts[..., 0].size
    assert list(frame.columns) == [
        *("line", "method", "layer", "head", "reading", "punctuation"),
        *("sure_hits", "possible_hits", "links", "sure"),
    ]
    heads = aligners_of(translator.model)
    at = heads.index(Aligner(Method.HEAD, 1, 2))
    of_head = frame[(frame["method"] == "head") & (frame["layer"] == 1) & (frame["head"] == 2)]
    of_input = of_head[(of_head["reading"] == "input") & ~of_head["punctuation"]]
    assert of_input["links"].tolist() == counted.counts[:, at, 1, 1, 2].tolist()


def test_a_pair_that_is_too_long_is_left_out_and_named(translator, caplog):
    long = GoldPair(("red",) * 90, ("rot",) * 3, frozenset({(0, 0)}), frozenset({(0, 0)}), line=2)
    gold = GoldSet("x", (gold_pair("red dog.", "rot Hund."), long))
    told = []
    counted = measure_alignment(translator.model, translator.tokenizer, gold, progress=told.append)
    assert len(counted.counts) == 1 and told == [1, 2] and "(line 2)" in caplog.text
    with pytest.raises(DataError, match="No pair of the gold set x fits the model: 1 line"):
        measure_alignment(translator.model, translator.tokenizer, GoldSet("x", (long,)))


def test_own_words_are_aligned_by_one_aligner(translator):
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


def test_lines_of_links_are_read_by_nltk():
    assert pharaoh([(2, 0), (0, 1), (0, 0)]) == "0-0 0-1 2-0"
    assert Alignment.fromstring(pharaoh([(3, 1), (0, 0)])) == Alignment([(0, 0), (3, 1)])
    assert pharaoh([(2, 0)], one_based=True) == "3-1" and pharaoh([]) == ""


def test_every_aligner_has_a_name_of_its_own():
    names = list(map(str, aligners(3, 2)))
    assert len(set(names)) == len(names) == 3 * 2 + 3 + 1 + 3 + 1 + 3
    assert {"layer 3, head 2", "mean of layer 1", "mean of all heads", "ALTI+ up to layer 3"} <= set(names)
    assert {"norm-weighted, layer 2", "norm-weighted, mean over layers"} <= set(names)


def test_a_pass_sees_nothing_but_the_pair(translator):
    """The maps of a pair do not depend on what was measured before."""
    pair = tokenize_pair(translator.tokenizer, split_text("big dog."), split_text("groß Hund."))
    before = alignment_maps(translator.model, pair)
    measure_alignment(translator.model, translator.tokenizer, GoldSet("x", tuple(tiny_gold(2, 1))))
    np.testing.assert_array_equal(alignment_maps(translator.model, pair), before)
    assert record(translator.model, [pair.source_ids], [pair.decoder_input]).weights("cross").shape[1] == 1
