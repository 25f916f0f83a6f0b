"""Roles of heads over a corpus: counted sentence by sentence, saved, and read again or refused."""

from types import SimpleNamespace

import numpy as np
import pytest

from transformer.corpus.head_roles import load_roles, measure_roles, save_roles
from transformer.data.batching import make_examples
from transformer.interpret.head_patterns import Pattern, measure_heads
from transformer.interpret.trace import keys_of, masked_maps
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


@pytest.mark.parametrize("kind", list(AttentionKind))
def test_counts_are_those_of_each_sentence_alone(shipped, roles, kind):
    expected = {name: np.zeros_like(roles.rows[kind]) for name in ("labelled", "rows", "eligible")}
    for source, target in PAIRS:
        trace = shipped.trace(source, target=target)
        for head in measure_heads(kind, masked_maps(trace, kind), keys_of(trace, kind), trace.target_tokens):
            for column, pattern in enumerate(Pattern):
                cell = head.layer, head.head, column
                expected["labelled"][cell] += head.label == pattern
                expected["rows"][cell] += head.counts[pattern].rows
                expected["eligible"][cell] += head.counts[pattern].eligible
    for name, counts in expected.items():
        np.testing.assert_array_equal(getattr(roles, name)[kind], counts)
    for (layer, head, column), count in np.ndenumerate(expected["labelled"]):
        assert roles.share(kind, layer, head, list(Pattern)[column]) == count / len(PAIRS)


def test_reading_inverts_writing(shipped, roles, tmp_path):
    save_roles(tmp_path / "heads.json", roles)
    again = load_roles(tmp_path / "heads.json", shipped.model)
    assert (again.pairs, again.sentences) == ("five.tsv", 5)
    for name in ("labelled", "rows", "eligible"):
        for kind in AttentionKind:
            np.testing.assert_array_equal(getattr(again, name)[kind], getattr(roles, name)[kind])


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
