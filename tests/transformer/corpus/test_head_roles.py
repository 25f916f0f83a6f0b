"""Roles of heads over a corpus: counted sentence by sentence, saved, and read again or refused."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from support.files import broken

from transformer import Translator
from transformer.corpus.head_roles import load_roles, measure_roles, save_roles
from transformer.data.batching import make_examples
from transformer.errors import CheckpointError
from transformer.interpret.head_patterns import Pattern
from transformer.model.names import AttentionKind

PAIRS = [
    ("I love my teacher.", "Ich liebe meinen Lehrer."),
    ("Yes.", "Ja."),
    ("He bought a ticket at the train station.", "Er kaufte eine Fahrkarte am Bahnhof."),
    ("no no no no no no", "nein nein nein nein"),
    ("Where is my cat?", "Wo ist meine Katze?"),
]


@pytest.fixture(scope="module")
def roles(shipped):
    examples = make_examples(PAIRS, shipped.tokenizer, shipped.model.config.max_length)
    return measure_roles(shipped.model, shipped.tokenizer, examples, "five.tsv")


def previous_by_hand(weights: np.ndarray) -> tuple[int, int]:
    """Count rows with their largest weight on the token before, and rows that have one and another key to read."""
    could = range(1, len(weights))
    return sum(int(np.nanargmax(weights[row])) == row - 1 for row in could), len(could)


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_rows_are_counted_over_all_sentences(shipped, roles, kind):
    """Each pair is teacher-forced alone and counted here."""
    rows = eligible = 0
    for source, target in PAIRS:
        trace = shipped.trace(source, target=target)
        maps = trace.attention(kind)
        if kind == "decoder":
            maps = np.where(np.tri(maps.shape[-1], dtype=bool), maps, np.nan)
        counts = [[previous_by_hand(head) for head in layer] for layer in maps]
        rows = rows + np.array(counts)[..., 0]
        eligible = eligible + np.array(counts)[..., 1]
    column = list(Pattern).index(Pattern.PREVIOUS)
    np.testing.assert_array_equal(roles.rows[AttentionKind(kind)][..., column], rows)
    np.testing.assert_array_equal(roles.eligible[AttentionKind(kind)][..., column], eligible)


def test_a_share_is_that_of_the_sentences_with_this_label(roles):
    assert roles.sentences == len(PAIRS)
    for kind, labelled in roles.labelled.items():
        assert labelled.max() <= len(PAIRS) and labelled.sum(axis=-1).max() <= len(PAIRS), "one label a sentence"
        layer, head, column = np.unravel_index(labelled.argmax(), labelled.shape)
        share = roles.share(kind, layer, head, list(Pattern)[column])
        assert share == labelled.max() / len(PAIRS) and (kind != "cross" or share > 0)
    assert not roles.eligible[AttentionKind.CROSS][..., list(Pattern).index(Pattern.PREVIOUS)].any()


def test_reading_inverts_writing(shipped, roles, tmp_path):
    save_roles(tmp_path / "heads.json", roles)
    again = load_roles(tmp_path / "heads.json", shipped.model)
    assert (again.pairs, again.sentences) == ("five.tsv", 5)
    for name in ("labelled", "rows", "eligible"):
        for kind in AttentionKind:
            np.testing.assert_array_equal(getattr(again, name)[kind], getattr(roles, name)[kind])


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: "",
        broken(lambda content: content.pop("labelled")),
        broken(lambda content: content.update(version=2)),
        broken(lambda content: content.update(sentences=0)),
        broken(lambda content: content["rows"]["encoder"].pop()),
        broken(lambda content: content["rows"]["cross"][0].pop()),
        broken(lambda content: content["rows"]["encoder"][0][0].update(previous=10**9)),
        broken(lambda content: content["rows"]["encoder"][0][0].update(dancing=1)),
        broken(lambda content: content["labelled"]["encoder"][0][0].update(previous=6)),
    ],
)
def test_a_damaged_file_is_refused(shipped, roles, tmp_path, damage):
    path = tmp_path / "heads.json"
    save_roles(path, roles)
    path.write_text(damage(json.loads(path.read_text())))
    with pytest.raises(CheckpointError, match="heads.json cannot be read"):
        load_roles(path, shipped.model)


def test_a_corpus_without_pairs_is_refused(shipped):
    with pytest.raises(ValueError, match="at least one"):
        measure_roles(shipped.model, shipped.tokenizer, [], "none")


@pytest.mark.parametrize("name", ["en-de", "en-fr", "reverse"])
def test_every_shipped_checkpoint_has_its_roles_over_its_samples(checkpoints, name):
    translator = Translator.load(checkpoints / name, "cpu")
    shipped_roles = load_roles(checkpoints / name / "heads.json", translator.model)
    assert (shipped_roles.pairs, shipped_roles.sentences) == ("samples.tsv", 400)


@pytest.mark.parametrize(
    ("kind", "patterns"),
    [
        ("cross", [Pattern.OUTPUT_ALIGNMENT]),
        ("encoder", [Pattern.PREVIOUS, Pattern.NEXT]),
        ("decoder", [Pattern.PREVIOUS, Pattern.NEXT]),
    ],
)
def test_the_default_head_follows_its_pattern_in_most_rows(roles, kind, patterns):
    shares = np.stack(
        [
            roles.rows[kind][..., at] / np.maximum(roles.eligible[kind][..., at], 1)
            for at in map(list(Pattern).index, patterns)
        ]
    ).max(axis=0)
    assert shares[roles.default_head(kind)] == shares.max() > 0.2
    one = SimpleNamespace(layer=2, head=7, shares=dict.fromkeys(Pattern, 1.0))
    assert roles.default_head(kind, [one]) == (2, 7), "the sentence decides"
