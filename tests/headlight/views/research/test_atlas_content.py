"""Atlas and the view of one head through Streamlit's test runner: numbers, addresses, broken files."""

import json
import shutil

import numpy as np
import pytest
from support.pages import ROOT, open_page, page_text, payload
from support.traces import loaded, trace_of

from headlight.app import results
from headlight.views.attention.one_head_content import GROUPS, head_payload
from headlight.views.research.atlas_content import (
    MEASURES,
    plainest_pattern,
    summaries_of_atlas,
    summaries_of_sentence,
    with_error,
)
from transformer.corpus.atlas.atlas import Atlas, Role, find_atlas
from transformer.corpus.head_roles import plainest_head, roles_of
from transformer.interpret.head_patterns import Pattern
from transformer.interpret.trace import Trace
from transformer.model.heads import Head

FOLDER = ROOT / "checkpoints" / "reverse"
TEXT = "abc xyz"


@pytest.fixture(scope="module")
def atlas() -> Atlas:
    return find_atlas(FOLDER, loaded("reverse").model)


@pytest.fixture(scope="module")
def trace() -> Trace:
    return trace_of("reverse", TEXT)


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """The checkpoint in a folder of its own, whose files may be changed."""
    shutil.copytree(FOLDER, tmp_path / "mine")
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path)
    return tmp_path / "mine"


def atlas_page(**query: str):
    return open_page("pages/research.py", **{"checkpoint": "reverse", "text": TEXT, "research": "atlas"} | query)


def head_view(**query: str):
    return open_page("pages/attention.py", **{"checkpoint": "reverse", "text": TEXT, "attention": "one head"} | query)


def test_every_head_is_in_the_finder_with_what_the_atlas_says(atlas):
    finder = payload(atlas_page())
    entries = atlas.entries()
    heads = [(each["kind"], each["layer"], each["head"]) for each in finder["heads"]]
    assert heads == [(each.kind, each.layer, each.head) for each in entries]
    for name in MEASURES:
        np.testing.assert_allclose(finder["values"][name], [each.measures[name] for each in entries], atol=1e-4)
    parts = ("beginning", "end", "punctuation")
    special = [sum(each.measures[name][0] for name in parts) for each in entries]
    np.testing.assert_allclose([value for value, _ in finder["values"]["special"]], special, atol=1e-4)
    assert {measure["name"] for measure in finder["measures"]} == set(finder["values"])


def test_both_begin_with_the_default_head_and_show_the_one_of_the_address(atlas, trace):
    default = plainest_head(trace, "cross", roles_of(atlas))
    assert payload(atlas_page())["chosen"]["head"] == default.address
    assert payload(head_view())["name"] == f"cross-attention layer {default.layer + 1}, head {default.head + 1}"
    chosen = payload(atlas_page(x="entropy", head="encoder.2.3"))["chosen"]
    assert chosen == {"head": "encoder.2.3", "x": "entropy", "y": "confidence"}
    card = payload(head_view(head="encoder.2.3"))
    assert card["name"] == "encoder self-attention layer 2, head 3"
    first = card["examples"][0]
    assert first["keys"] == first["queries"] == list(trace.source_tokens)
    dense = np.zeros(len(first["keys"]) ** 2)
    dense[first["cells"]] = first["weights"]
    np.testing.assert_allclose(dense.reshape(len(first["keys"]), -1), trace.encoder[1, 2], atol=0.005)


def test_the_examples_are_those_of_the_atlas(atlas):
    card = payload(head_view(head="decoder.1.2"))
    entry = atlas.head("decoder", 0, 1)
    assert len(card["examples"]) == 1 + len(entry.examples)
    for shown, example in zip(card["examples"][1:], entry.examples, strict=True):
        rows, _, columns = atlas.sentences[example.sentence].labels(entry.kind)
        assert (shown["queries"], shown["keys"]) == (list(rows), list(columns))
        assert (shown["cells"], shown["weights"]) == (list(example.cells), list(example.weights))
        assert shown["group"] == ("strongest" if example.strongest else str(example.fifth + 1))
    groups = {example["group"] for example in card["examples"]}
    assert [name for name, _ in card["groups"]] == [group for group in GROUPS if group in groups]


def test_without_an_atlas_the_page_says_how_to_make_one_and_shows_the_sentence(copied, trace):
    (copied / "atlas.json").unlink()
    app = atlas_page(checkpoint="mine")
    assert "headlight atlas --checkpoint checkpoints/mine --pairs PAIRS.tsv --out FOLDER" in page_text(app)
    finder, card = payload(app), payload(head_view(checkpoint="mine"))
    assert len(finder["heads"]) == len(summaries_of_sentence(trace))
    assert set(finder["values"]) == {"confidence", "entropy", "special"}
    heads = [(each["kind"], each["layer"], each["head"]) for each in finder["heads"]]
    value, _ = finder["values"]["special"][heads.index(("cross", 0, 1))]
    assert value == pytest.approx(trace.special_share().total("cross")[0, 1], abs=1e-4)
    assert len(card["examples"]) == 1 and not card["groups"] and not card["facts"]


@pytest.mark.parametrize("content", [b"{", b'{"version": 1}', b"[" * 100_000, None])
def test_a_broken_atlas_gets_a_message_and_the_page_shows_the_sentence(copied, content):
    other = json.loads((copied / "atlas.json").read_bytes())
    other["provenance"]["weights"] = "0" * 64
    (copied / "atlas.json").write_bytes(content or json.dumps(other).encode())
    app = atlas_page(checkpoint="mine")
    assert ("atlas.json" if content else "other weights") in app.warning[0].value.replace("\\", "")
    assert payload(app)["heads"] and payload(head_view(checkpoint="mine"))["headline"]


@pytest.mark.parametrize(
    "roles, sentences, pattern",
    [
        ({}, 10, None),
        ({Pattern.NEXT: Role(0, 30, 100), Pattern.SAME: Role(0, 40, 100)}, 10, Pattern.SAME),
        ({Pattern.NEXT: Role(5, 30, 100), Pattern.SAME: Role(0, 40, 100)}, 10, Pattern.NEXT),
        ({Pattern.NEXT: Role(0, 30, 100), Pattern.SAME: Role(0, 4, 4)}, 10, Pattern.NEXT),
        ({Pattern.NEXT: Role(0, 30, 100), Pattern.MIRRORED: Role(0, 49, 100)}, 10, Pattern.NEXT),
        ({Pattern.NEXT: Role(0, 30, 100), Pattern.MIRRORED: Role(0, 51, 100)}, 10, Pattern.MIRRORED),
    ],
)
def test_the_plainest_pattern_is_the_label_of_most_sentences_else_that_of_most_rows(roles, sentences, pattern):
    assert plainest_pattern(roles, sentences)[0] == pattern


def test_summaries_have_the_numbers_of_the_atlas_with_their_errors(atlas, trace):
    summaries = {each.heads: each for each in summaries_of_atlas(atlas, None)}
    for head, summary in summaries.items():
        role = atlas.head(head.kind, head.layer, head.head).roles[summary.pattern]
        assert summary.share == role.rows / role.eligible
        assert f"{role.rows:,} of {role.eligible:,} rows" in summary.role.more
    head = Head("cross", 0, 0)
    facts = head_payload(head, summaries[head].role, trace, atlas, (0.25, 0.03), ("gold", 40))["facts"]
    importance = with_error(*atlas.head("cross", 0, 0).importance)
    assert [fact["value"] for fact in facts[:2]] == [importance, "0.25 ± 0.03"]
    written = [with_error(-0.5, 0.0), with_error(0.7134, 0.002), with_error(1, None), with_error(0.59031, 0.00031)]
    assert written == ["−0.50 ± 0.00", "0.713 ± 0.002", "1.00", "0.5903 ± 0.0003"]
