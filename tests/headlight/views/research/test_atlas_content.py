"""Atlas and the view of one head through Streamlit's own test runner: numbers, addresses, broken files."""

import json
import shutil

import numpy as np
import pytest
from support.pages import ROOT, check_headline, components, open_page, page_text

from headlight.app import results
from headlight.views.attention.one_head_content import GROUPS, head_payload
from headlight.views.research.atlas_content import (
    MEASURES,
    plainest_pattern,
    summaries_of_atlas,
    summaries_of_sentence,
    with_error,
)
from transformer import Translator
from transformer.corpus.atlas.atlas import Atlas, Role, find_atlas
from transformer.corpus.atlas.roles import roles_of
from transformer.corpus.head_roles import plainest_head
from transformer.interpret.head_patterns import Pattern
from transformer.interpret.trace import Trace
from transformer.model.head_ref import HeadRef

FOLDER = ROOT / "checkpoints" / "reverse"
TEXT = "abc xyz"


@pytest.fixture(scope="module")
def reverse() -> Translator:
    return Translator.load(FOLDER, "cpu")


@pytest.fixture(scope="module")
def atlas(reverse) -> Atlas:
    return find_atlas(FOLDER, reverse.model)


@pytest.fixture(scope="module")
def trace(reverse) -> Trace:
    return reverse.trace(TEXT)


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """The checkpoint in a folder of its own, whose files may be changed."""
    shutil.copytree(FOLDER, tmp_path / "mine")
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path)
    return tmp_path / "mine"


def atlas_page(**query: str):
    return open_page("pages/research.py", **{"checkpoint": "reverse", "text": TEXT} | query)


def head_view(**query: str):
    return open_page("pages/attention.py", **{"checkpoint": "reverse", "text": TEXT, "attention": "one head"} | query)


def sent(app) -> dict:
    """The payload of the finder or the card."""
    (component,) = components(app)
    return json.loads(component.proto.json)


def test_every_head_is_in_the_finder_with_what_the_atlas_says(atlas):
    finder = sent(atlas_page())
    entries = atlas.entries()
    assert [(each["kind"], each["layer"], each["head"]) for each in finder["heads"]] == [
        (each.kind, each.layer, each.head) for each in entries
    ]
    for name in MEASURES:
        np.testing.assert_allclose(finder["values"][name], [each.measures[name] for each in entries], atol=1e-4)
    parts = ("beginning", "end", "punctuation")
    special = [sum(each.measures[name][0] for name in parts) for each in entries]
    np.testing.assert_allclose([value for value, _ in finder["values"]["special"]], special, atol=1e-4)
    assert {measure["name"] for measure in finder["measures"]} == set(finder["values"])


def test_both_begin_with_the_default_head_and_show_the_one_of_the_address(reverse, atlas, trace):
    layer, head = plainest_head(trace, "cross", roles_of(atlas))
    assert sent(atlas_page())["chosen"]["head"] == f"cross.{layer + 1}.{head + 1}"
    assert sent(head_view())["name"] == f"cross-attention layer {layer + 1}, head {head + 1}"
    address = {"head": "encoder.2.3"}
    chosen = sent(atlas_page(x="entropy", **address))["chosen"]
    assert chosen == {"head": "encoder.2.3", "x": "entropy", "y": "confidence"}
    card = sent(head_view(**address))
    assert card["name"] == "encoder self-attention layer 2, head 3"
    first = card["examples"][0]
    assert first["keys"] == first["queries"] == list(trace.source_tokens)
    dense = np.zeros(len(first["keys"]) * len(first["queries"]))
    dense[first["cells"]] = first["weights"]
    np.testing.assert_allclose(dense.reshape(len(first["queries"]), -1), trace.attention("encoder")[1, 2], atol=0.005)


def test_the_examples_are_those_of_the_atlas(atlas):
    card = sent(head_view(head="decoder.1.2"))
    entry = atlas.head("decoder", 0, 1)
    assert len(card["examples"]) == 1 + len(entry.examples)
    for shown, example in zip(card["examples"][1:], entry.examples, strict=True):
        rows, _, columns = atlas.sentences[example.sentence].labels(entry.kind)
        assert (shown["queries"], shown["keys"]) == (list(rows), list(columns))
        assert (shown["cells"], shown["weights"]) == (list(example.cells), list(example.weights))
        assert shown["group"] == ("strongest" if example.strongest else str(example.fifth + 1))
    assert [name for name, _ in card["groups"]] == [
        each for each in GROUPS if each in {x["group"] for x in card["examples"]}
    ]


def test_without_an_atlas_the_page_says_how_to_make_one_and_shows_the_sentence(copied, trace):
    (copied / "atlas.json").unlink()
    app = atlas_page(checkpoint="mine")
    assert "headlight atlas --checkpoint checkpoints/mine --pairs PAIRS.tsv --out FOLDER" in page_text(app)
    finder, card = sent(app), sent(head_view(checkpoint="mine"))
    assert len(finder["heads"]) == len(summaries_of_sentence(trace)) and set(finder["values"]) == {
        "confidence",
        "entropy",
        "special",
    }
    shares = trace.special_share().total("cross")
    shown = {
        (each["kind"], each["layer"], each["head"]): value
        for each, (value, _) in zip(finder["heads"], finder["values"]["special"], strict=True)
    }
    assert shown["cross", 0, 1] == pytest.approx(shares[0, 1], abs=1e-4)
    assert len(card["examples"]) == 1 and not card["groups"] and not card["facts"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"version": 1}', b"\xff", b"[" * 100_000, b'{"version": 99}'])
def test_a_broken_atlas_is_said_and_nothing_else_is_lost(copied, content):
    (copied / "atlas.json").write_bytes(content)
    app = atlas_page(checkpoint="mine")
    assert "atlas.json" in app.warning[0].value.replace("\\", "")
    assert sent(app)["heads"] and sent(head_view(checkpoint="mine"))["headline"]
    files = results.checkpoint("mine")
    assert results.roles(files) is not None, "heads.json still says what the heads do"


def test_an_atlas_of_other_weights_is_said_to_be_that(copied):
    content = json.loads((copied / "atlas.json").read_bytes())
    content["provenance"]["weights"] = "0" * 64
    (copied / "atlas.json").write_text(json.dumps(content))
    assert "other weights" in atlas_page(checkpoint="mine").warning[0].value


def test_headlines_hold_their_length_and_numbers_are_the_atlas_s(atlas):
    for summary in summaries_of_atlas(atlas, None):
        check_headline(summary.role.headline)
        entry = atlas.head(summary.heads.kind, summary.heads.layer, summary.heads.head)
        role = entry.roles[summary.pattern]
        assert summary.share == role.rows / role.eligible
        assert f"{role.rows:,} of {role.eligible:,} rows" in summary.role.more


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


def test_importance_and_error_rate_are_shown_with_their_errors_where_they_were_measured(atlas, trace):
    summary = next(each for each in summaries_of_atlas(atlas, None) if each.heads == HeadRef("cross", 0, 0))
    payload = head_payload(summary.heads, summary.role, trace, atlas, (0.25, 0.03), ("gold", 40))
    importance, error_rate = (each["value"] for each in payload["facts"][:2])
    assert importance == with_error(*atlas.head("cross", 0, 0).importance) and error_rate == "0.25 ± 0.03"
    written = [with_error(-0.5, 0.0), with_error(0.7134, 0.002), with_error(1, None), with_error(0.59031, 0.00031)]
    assert written == ["−0.50 ± 0.00", "0.713 ± 0.002", "1.00", "0.5903 ± 0.0003"]
