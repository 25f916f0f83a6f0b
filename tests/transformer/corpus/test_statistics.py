"""Statistics of heads: the same for any split of a corpus in any order, and those of its sentences."""

import random
from functools import reduce
from operator import add

import numpy as np
import pytest

from transformer.arrays import entropy
from transformer.corpus.atlas.atlas import BINS, FIFTHS
from transformer.corpus.atlas.batch import Recorded, Vocabulary, record_batch
from transformer.corpus.atlas.drawing import choose
from transformer.corpus.atlas.statistics import MEASURES, SHOWN_LENGTHS, Settings, Statistics, statistics
from transformer.data.batching import Example, make_examples
from transformer.interpret.head_patterns import confidences, is_punctuation
from transformer.model.names import AttentionKind

SETTINGS = Settings(sample=25, strongest=4)
SENTENCES = 60


@pytest.fixture(scope="module")
def vocabulary(shipped) -> Vocabulary:
    return Vocabulary.of(shipped.tokenizer)


@pytest.fixture(scope="module")
def alone(shipped, checkpoints) -> list[Recorded]:
    """Record each sentence in a pass of its own; two of them are the same."""
    lines = (checkpoints / "en-de" / "samples.tsv").read_text("utf-8").splitlines()[: SENTENCES - 1]
    pairs = [tuple(line.split("\t")[:2]) for line in lines]
    examples = make_examples([*pairs, pairs[7]], shipped.tokenizer, shipped.model.config.max_length)
    return [record_batch(shipped.model, [example]) for example in examples]


def together(parts: list[Recorded]) -> Recorded:
    """Join sentences into one batch, padded with values that no statistic may read."""
    weights = {}
    for kind in AttentionKind:
        maps = [part.weights[kind][0] for part in parts]
        queries, keys = (max(each.shape[axis] for each in maps) for axis in (1, 2))
        padded = np.full((len(maps), len(maps[0]), queries, keys), 7.0, dtype=np.float32)
        for row, each in enumerate(maps):
            padded[row, :, : each.shape[1], : each.shape[2]] = each
        weights[kind] = padded
    return Recorded([part.examples[0] for part in parts], weights)


@pytest.fixture(scope="module")
def counted(alone, vocabulary) -> Statistics:
    return reduce(add, (statistics(each, vocabulary, SETTINGS) for each in alone))


def assert_same(sampled: Statistics, expected: Statistics) -> None:
    """Compare counts and examples exactly, sums up to rounding."""
    for name in ("sentences", "source_tokens", "target_tokens", "ids"):
        assert getattr(sampled, name) == getattr(expected, name)
    assert list(sampled.sample) == list(expected.sample)
    for kind, each in expected.kinds.items():
        for name in ("roles", "greatest", "confidence"):
            np.testing.assert_array_equal(getattr(sampled.kinds[kind], name), getattr(each, name))
        for name in ("sums", "products"):
            np.testing.assert_allclose(getattr(sampled.kinds[kind], name), getattr(each, name), rtol=1e-5, atol=1e-4)
        for ranking, other in zip(sampled.kinds[kind].strongest, each.strongest, strict=True):
            assert [key for _, key in ranking] == [key for _, key in other]
        for key, by_kind in expected.sample.items():
            np.testing.assert_allclose(sampled.sample[key][kind], by_kind[kind], atol=1e-5)


@pytest.mark.parametrize("seed", range(2))
def test_any_split_in_any_order_has_the_same_statistics(alone, vocabulary, counted, seed):
    generator = random.Random(seed)
    sentences, parts = generator.sample(alone, len(alone)), []
    while sentences:
        size = generator.randint(1, 12)
        parts.append(statistics(together(sentences[:size]), vocabulary, SETTINGS))
        sentences = sentences[size:]
    assert len(parts) > 3
    while len(parts) > 1:  # a random tree of sums
        one, other = (parts.pop(generator.randrange(len(parts))) for _ in range(2))
        parts.append(one + other)
    assert_same(parts[0], counted)


def test_reading_inverts_writing(counted):
    again = Statistics.from_bytes(counted.to_bytes())
    assert_same(again, counted)
    assert again.settings == counted.settings
    for damaged in (b"", b"no gzip"):
        with pytest.raises((ValueError, OSError, EOFError)):
            Statistics.from_bytes(damaged)


def maps_of(kind: AttentionKind, part: Recorded) -> np.ndarray:
    """Return a sentence's maps as `head_patterns` reads them: [heads, queries, keys], masked cells NaN."""
    maps = part.weights[kind][0]
    return np.where(np.tri(maps.shape[-1], dtype=bool), maps, np.nan) if kind == AttentionKind.DECODER else maps


def keys_of(kind: AttentionKind, example: Example, tokenizer) -> list[str]:
    if kind == AttentionKind.DECODER:
        return [tokenizer.piece_text(each) for each in example.target[:-1]]
    return [tokenizer.source_piece_text(each) for each in example.source]


@pytest.mark.parametrize("kind", list(AttentionKind))
def test_means_and_their_standard_errors_are_those_of_the_sentences(shipped, alone, counted, kind):
    values: dict[str, list[np.ndarray]] = {name: [] for name in MEASURES}
    for part in alone:
        maps, keys = maps_of(kind, part), keys_of(kind, part.examples[0], shipped.tokenizer)
        rows = (~np.isnan(maps[0])).sum(axis=-1) > 1
        choosing = np.nan_to_num(maps.astype(np.float64))[:, rows]
        at = np.arange(maps.shape[1], dtype=float)
        if kind == AttentionKind.CROSS:
            at *= (maps.shape[2] - 1) / max(maps.shape[1] - 1, 1)
        distance = np.arange(maps.shape[2]) - at[rows, None]
        values["entropy"].append(entropy(choosing).mean(axis=-1))
        values["maximum"].append(choosing.max(axis=-1).mean(axis=-1))
        values["confidence"].append(confidences(maps, keys))
        values["distance"].append((choosing * distance).sum(axis=-1).mean(axis=-1))
        values["absolute_distance"].append((choosing * abs(distance)).sum(axis=-1).mean(axis=-1))
        sorts = {"end": "</s>".__eq__, "beginning": "<s>".__eq__, "punctuation": is_punctuation}
        for name, is_of in sorts.items():
            chosen = list(map(is_of, keys))
            values[name].append(choosing[:, :, chosen].sum(axis=-1).mean(axis=-1))
    assert counted.kinds[kind].measured == len(alone)
    for name, each in values.items():
        mean, error = counted.kinds[kind].mean(name)
        np.testing.assert_allclose(mean, np.mean(each, axis=0), atol=2e-5, err_msg=name)
        np.testing.assert_allclose(error, np.std(each, axis=0) / np.sqrt(len(alone)), atol=2e-5, err_msg=name)
        if name == "confidence":
            bins = np.minimum((np.array(each) * BINS).astype(int), BINS - 1)
            histogram = counted.kinds[kind].confidence
            assert abs(np.bincount(bins[:, 0], minlength=BINS) - histogram[0]).sum() <= 2, "but for a border's"
    flat = np.concatenate([part.weights[kind][0].reshape(24, -1) for part in alone], axis=1)
    if kind == AttentionKind.CROSS:
        np.testing.assert_allclose(counted.kinds[kind].products, flat @ flat.T, rtol=1e-4)


def test_the_strongest_are_the_most_confident_sentences(shipped, alone, counted):
    kind, certain = AttentionKind.CROSS, {}
    for part in alone:
        (example,) = part.examples
        if len(example.source) in SHOWN_LENGTHS and len(example.target) - 1 in SHOWN_LENGTHS:
            certain[example.source] = confidences(maps_of(kind, part), keys_of(kind, example, shipped.tokenizer))
    for head in (0, 11, 23):
        best = sorted(certain, key=lambda source: -certain[source][head])[: SETTINGS.strongest]
        assert [tuple(counted.ids[key][0]) for _, key in counted.kinds[kind].strongest[head]] == list(map(tuple, best))


def test_examples_of_a_fifth_have_its_confidences(counted):
    kind = AttentionKind.ENCODER
    for head in range(24):
        choice = choose(counted, kind, head)
        assert len(choice.fifths) == FIFTHS and len(choice.borders) == FIFTHS - 1
        assert list(choice.borders) == sorted(choice.borders)
        keys = [key for fifth in choice.fifths for key in fifth]
        assert len(keys) == len(set(keys)) >= FIFTHS
        for fifth, sampled in enumerate(choice.fifths):
            bounds = (0.0, *choice.borders, 1.0)[fifth : fifth + 2]
            assert all(bounds[0] <= counted.sample[key][kind][head] <= bounds[1] + 1e-6 for key in sampled)
