"""Roles of heads over a corpus: counted sentence by sentence."""

from types import SimpleNamespace

import numpy as np
import pytest
from support.atlases import atlas_of

from transformer.corpus.head_roles import find_roles, roles_of
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
    return roles_of(atlas_of(shipped, PAIRS))


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


def test_a_file_that_is_not_read_any_more_is_named_with_the_command_for_another(shipped, tmp_path, caplog):
    (tmp_path / "heads.json").touch()
    assert find_roles(tmp_path, shipped.model) is None
    assert f"headlight atlas --checkpoint {tmp_path} --pairs PAIRS.tsv" in caplog.text


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
    assert shares[roles.default_head(kind).index] == shares.max() > 0.2
    one = SimpleNamespace(layer=2, head=7, shares=dict.fromkeys(Pattern, 1.0))
    assert roles.default_head(kind, [one]).index == (2, 7), "the sentence decides"
