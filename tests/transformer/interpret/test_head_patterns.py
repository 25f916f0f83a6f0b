"""Head patterns against a classifier in plain loops over many maps, and maps of known kind."""

import math
import random
from collections.abc import Iterator

import numpy as np
import pytest
from support.head_rows import Head

from transformer.interpret.head_patterns import (
    Focus,
    best_reader,
    confidences,
    count_hits,
    is_punctuation,
    is_word,
    mean_maxima,
    measure_focus,
    measure_head,
    measure_heads,
    most_confident_head,
    rows_with_choice,
    strongest_word_pair,
)

WORDS = ("▁I", "love", "▁Hund", "7", "a.", "<3", "5>")
OTHERS = (".", "▁!", "</s>", "<s>", "▁", "<unk>")
LEAST = {"previous": 0.9, "same": 0.9, "next": 0.9, "mirrored": 0.9} | dict.fromkeys(
    ("end of sentence", "beginning of sentence", "punctuation", "alignment", "input alignment"), 0.8
)


def example(kind: str, seed: int):
    """Make maps of random size, of which one head follows a pattern on most rows; sometimes with a tie."""
    draw = random.Random(seed)
    queries, heads = draw.randint(1, 11), draw.randint(1, 3)
    keys = tuple(draw.choice(WORDS + OTHERS) for _ in range(draw.randint(2, 11) if kind == "cross" else queries))
    outputs = tuple(draw.choice(WORDS + OTHERS[:3]) for _ in range(queries))
    maps = np.random.default_rng(seed).random((2, heads, queries, len(keys)))
    columns = (lambda row: row - 1, lambda row: row, lambda row: row + 1, lambda row: queries - 1 - row, lambda row: 1)
    column = draw.choice(columns)
    for row in range(queries):
        if 0 <= column(row) < len(keys) and draw.random() < 0.95:
            maps[0, 0, row, column(row)] += 3
    if kind == "cross" and draw.random() < 0.5:
        maps[1:, 0] = maps[0, 0] + 1e-3 * maps[1:, 0]
    if draw.random() < 0.1 and len(keys) > 1:
        maps[0, 0, -1, :2] = 9.0
    maps /= maps.sum(axis=-1, keepdims=True)
    if kind == "decoder":
        maps[..., np.triu(np.ones((queries, queries), dtype=bool), 1)] = np.nan
    return maps, keys, outputs


def by_hand(kind: str, maps: np.ndarray, keys: tuple, outputs: tuple) -> Iterator[Head]:
    """Yield the heads, layer by layer; BART's decoder begins with the end of sentence."""
    keys = ("<s>", *keys[1:]) if kind == "decoder" and keys[0] == "</s>" else keys
    average = maps.mean(axis=(0, 1)) if maps.shape[0] * maps.shape[1] > 1 else None
    for weights in maps.reshape(-1, *maps.shape[2:]):
        yield Head(kind, weights, keys, outputs, average)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_every_count_label_entropy_and_confidence_is_that_of_plain_loops(kind):
    seen = set()
    for seed in range(100):
        maps, keys, outputs = example(kind, seed)
        measured = measure_heads(kind, maps, keys, outputs)
        assert [(head.kind, head.layer, head.head) for head in measured] == [
            (kind, layer, number) for layer in range(maps.shape[0]) for number in range(maps.shape[1])
        ]
        for head, plain in zip(measured, by_hand(kind, maps, keys, outputs), strict=True):
            counts = {name: plain.count(name) for name in LEAST}
            if counts["mirrored"][1] < 6:
                counts["mirrored"] = 0, 0
            assert {name: (share.rows, share.eligible) for name, share in head.counts.items()} == counts, seed
            for name, (rows, could) in counts.items():
                assert head.shares[name] == pytest.approx(rows / could if could >= 3 else math.nan, nan_ok=True)
            reached = [name for name, (rows, could) in counts.items() if could >= 3 and rows >= LEAST[name] * could]
            assert head.tied == plain.tied() and head.label == (None if head.tied else next(iter(reached), None)), seed
            seen.add(head.label)
            entropies = [-(row * np.log(row)).sum() for row in plain.rows.values()]
            assert head.entropy == pytest.approx(np.mean(entropies) if entropies else math.nan, nan_ok=True)
            largest = [
                max((weight for weight, key in zip(row, keys, strict=False) if key != "</s>"), default=0.0)
                for row in plain.rows.values()
            ]
            assert head.confidence == pytest.approx(np.mean(largest) if largest else 0.0)
    assert {"encoder": "next", "decoder": "previous", "cross": "alignment"}[kind] in seen and None in seen


def test_with_nothing_to_choose_there_is_no_entropy_no_maximum_and_no_confidence():
    single = np.ones((4, 1))
    assert math.isnan(measure_head("cross", single, ("a",)).entropy) and math.isnan(mean_maxima(single))
    assert confidences(single, ("a",)) == 0.0
    assert confidences(np.full((4, 2), 0.5), ("</s>", "</s>")) == 0.0
    assert mean_maxima(np.array([[0.25, 0.75], [1.0, np.nan], [0.5, 0.5]])) == pytest.approx(0.625)
    assert rows_with_choice(np.array([[0.25, 0.75], [1.0, np.nan]])).tolist() == [True, False]


def test_exactly_at_a_threshold_a_head_has_the_label():
    """Nine rows of ten are enough."""
    for wrong, expected in ((0, "previous"), (1, "previous"), (2, None)):
        weights = np.full((11, 11), 0.01)
        weights[range(11), [3, *range(9), 9]] = 0.9
        for row in range(1, 1 + wrong):
            weights[row] = weights[row][::-1]
        (head,) = measure_heads("encoder", weights[None, None], ("a",) * 11)
        assert (head.counts["previous"].rows, head.counts["previous"].eligible) == (10 - wrong, 10)
        assert head.label == expected


@pytest.mark.parametrize("rows, columns", [(3, 5), (5, 3)])
def test_names_that_do_not_fit_the_map_are_refused_with_its_size(rows, columns):
    maps = np.full((1, 2, rows, columns), 1 / columns)
    with pytest.raises(ValueError, match=f"expected {columns} keys, got {rows}"):
        measure_heads("cross", maps, ("a",) * rows)
    with pytest.raises(ValueError, match=f"expected {columns} keys and {rows} outputs"):
        measure_heads("cross", maps, ("a",) * columns, ("a",) * columns)


def test_words_and_marks_are_told_apart():
    assert all(map(is_word, WORDS)) and not any(map(is_word, OTHERS))
    assert [key for key in WORDS + OTHERS if is_punctuation(key)] == [".", "▁!"]
    assert not is_punctuation("X.") and not is_punctuation("X▁.X")


def test_the_most_confident_head_has_the_largest_weights_but_those_on_the_end():
    keys = ("▁I", "▁read", ".", "</s>")
    maps = np.zeros((2, 3, 3, 4))
    maps[..., 3] = 1.0
    maps[1, 0, :, 0] = 0.5
    assert most_confident_head(maps, keys) == (1, 0)
    causal = np.where(np.tri(3, dtype=bool), np.zeros((1, 2, 3, 3)), np.nan)
    causal[0, 0][np.tri(3, dtype=bool)] = (1, 0.5, 0.5, 1 / 3, 1 / 3, 1 / 3)
    causal[0, 1][np.tri(3, dtype=bool)] = (1, 0, 1, 0, 0, 1)
    assert most_confident_head(causal, ("<s>", "▁Ich", "▁lese")) == (0, 1)


def test_the_strongest_pair_of_words_is_the_largest_weight_that_no_mark_or_special_token_has():
    keys, outputs = ("▁no", ".", "▁cat", "</s>"), ("▁keine", "▁Katze", "</s>")
    weights = np.random.default_rng(3).random((3, 4)) / 2
    weights[0, 1], weights[1, 3], weights[2, 2] = 0.9, 0.8, 0.7
    pairs = [(row, column) for row in (0, 1) for column in (0, 2)]
    assert strongest_word_pair(weights, keys, outputs) == max(pairs, key=weights.__getitem__)
    assert strongest_word_pair(weights, keys) == (2, 2), "rows without outputs are all compared"
    assert strongest_word_pair(weights * [0, 1, 0, 1], keys, outputs) is None


@pytest.mark.parametrize("causal", [False, True])
def test_focus_is_the_mean_row_maximum_of_every_head(causal):
    weights = np.random.default_rng(1).random((2, 2, 3, 5, 5 if causal else 6)) ** 4
    weights = np.where(np.tri(5, dtype=bool), weights, np.nan) if causal else weights
    maps = weights / np.nansum(weights, axis=-1, keepdims=True)
    focus = measure_focus(np.array([0, 100]), maps)
    for index in np.ndindex(maps.shape[:3]):
        assert focus.values[index] == pytest.approx(mean_maxima(maps[index]), abs=1e-9)
    uniform = np.mean([1 / keys for keys in range(2, 6)]) if causal else 1 / 6
    assert focus.known and focus.uniform == pytest.approx(uniform)


def test_the_head_that_changed_most_differs_most_between_the_first_and_the_last_snapshot():
    values = np.full((3, 2, 3), 0.2)
    values[1, 0, :2] = 0.9
    values[2, 1, :2] = 0.05, 0.3
    assert Focus(np.arange(3), values, 0.125).most_changed() == (1, 0)
    assert not measure_focus(np.arange(2), np.ones((2, 1, 2, 3, 1))).known, "every row has a single key"


def test_a_hit_is_a_largest_weight_on_a_right_key():
    chance, path = np.full((5, 5), 0.1), np.full((5, 5), 0.1)
    chance[range(5), [4, 4, 4, 3, 0]] = path[range(5), [3, 2, 1, 0, 4]] = 0.6
    backwards = [{3}, {2}, {1}, {0}]
    maps = np.array([[[chance, chance]], [[chance, path]]])
    assert count_hits(maps, backwards).tolist() == [[[0, 0]], [[0, 4]]]
    assert best_reader(maps[-1], backwards) == (0, 1)
    either = [{3, 4}, {2, 4}, {4}, {3}]
    assert count_hits(maps[-1], either).tolist() == [[4, 2]], "any of a row's right keys counts"
