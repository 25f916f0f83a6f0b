"""Tables of alignment error rates: halves, standard errors, the chosen head, and files."""

import json

import numpy as np
import pytest
from support.files import broken
from support.tiny import tiny_gold

from transformer import Translator
from transformer.checkpoint import weights_digest
from transformer.corpus.alignment.aligners import Aligner, AlignmentCounts, Method, aligners
from transformer.corpus.alignment.gold import GoldSet
from transformer.corpus.alignment.links import Reading
from transformer.corpus.alignment.measure import measure_alignment
from transformer.corpus.alignment.table import (
    find_alignment,
    load_alignment,
    save_alignment,
    standard_errors,
    tabulate,
)
from transformer.errors import CheckpointError

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


@pytest.mark.parametrize(
    "damage",
    [
        broken(lambda content: content.update(version=2)),
        broken(lambda content: content.update(sentences=0)),
        broken(lambda content: content["aligners"][0].__setitem__(1, 7)),
        broken(lambda content: content["halves"].pop()),
        broken(lambda content: content["halves"][0][0][0][0].__setitem__(0, 10**6)),
        broken(lambda content: content["errors"][0][0][0].__setitem__(0, 1.1)),
    ],
)
def test_a_damaged_file_is_refused(translator, table, tmp_path, damage):
    path = tmp_path / "alignment.json"
    save_alignment(path, table)
    path.write_text(damage(json.loads(path.read_text())))
    with pytest.raises(CheckpointError, match="alignment.json cannot be read"):
        load_alignment(path, translator.model)


@pytest.mark.parametrize("name", ["en-de", "en-fr"])
def test_a_shipped_checkpoint_has_what_was_measured_of_its_own_weights(checkpoints, name):
    """After a training: `headlight align --checkpoint NAME --gold examples/alignment/NAME --out .../alignment.json`."""
    translator = Translator.load(checkpoints / name, "cpu")
    table = find_alignment(checkpoints / name, translator.model)
    assert table is not None and table.gold == name and table.sentences == 40
    assert table.weights == weights_digest(checkpoints / name), "of other weights: run `headlight align` anew"
    assert table.rates[: 3 * 8].min() < 0.5 < table.rates[: 3 * 8].max(), "some heads align, others do not"
