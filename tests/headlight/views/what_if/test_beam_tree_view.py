"""The tree of a search: where its branches lie, what is said of them, and the view."""

import json

import numpy as np
import pytest
from support.pages import components, open_page, page_text
from support.traced import translator

from headlight.app.results import Choice, checkpoint, what_if
from headlight.views.what_if.beam_tree_payload import tree_payload
from headlight.views.what_if.beam_tree_text import describe_tree
from transformer.decoding.beam import Beam, Outcome
from transformer.decoding.search_tree import Branch

TEXT = "He bought a ticket at the train station."
# 1 -> 2 (ended, rank 2), 3 -> 4 (ended, rank 1); 5 fell out.
MADE = (
    Branch((7,), -1, -0.5, 2),
    Branch((8,), -1, -0.4, 1),
    Branch((9,), -1, -2.0, 3, Outcome.FELL_OUT),
    Branch((7, 3), 0, -0.6, None, Outcome.ENDED, 1, -0.5),
    Branch((8, 3), 1, -0.9, None, Outcome.ENDED, 2, -0.8),
    Branch((7, 5), 0, -1.5, 1, Outcome.OPEN),
)


def payload():
    reads = [[0.25, 0.75]] * len(MADE)
    return tree_payload(MADE, reads, ("<b>", "</s>"), "It reads: ", lambda id: f"<piece {id}>")["branches"]


def test_the_best_and_its_continuations_stand_above_and_on_one_row():
    drawn = payload()
    assert [each["ids"] for each in drawn] == ["7", "7.3", "7.5", "8", "8.3", "9"]
    assert [each["row"] for each in drawn] == [0, 0, 1, 2, 2, 3]
    assert [each["parent"] for each in drawn] == [-1, 0, 0, -1, 3, -1]
    assert [each["look"] for each in drawn] == ["best", "best ended", "", "", "ended", "dropped"]
    assert [each["note"] for each in drawn] == ["", "1", "", "", "2", ""]
    assert drawn[1]["chance"] == pytest.approx(np.exp(-0.1), abs=1e-4) and drawn[1]["token"] == "<piece 3>"


def test_each_branch_in_words():
    words = [each["words"] for each in payload()]
    assert words[0] == (
        "“<piece 7>”, step 1: 60.7 % after what came before; log P of all so far −0.50, place 2 in the beam."
    )
    assert words[1].endswith("log P of all so far −0.60. It ended, rank 1 with the score −0.50.")
    assert words[2].endswith("Unfinished when the search stopped.")
    assert words[5].endswith("None of its continuations was kept.")


def test_where_the_best_was_behind():
    assert describe_tree(MADE) == (
        "The beam held 6 translations under way or ended: 2 ended, 1 fell out because none of their continuations was "
        "among the best. The best was not first in the beam after step 1: place 2 after step 1."
    )
    assert describe_tree((Branch((7,), -1, -0.5, 1), Branch((7, 3), 0, -0.6, None, Outcome.ENDED, 1, -0.5))).endswith(
        "The best translation was first in the beam at every step."
    )


def test_a_branch_reads_what_the_head_reads_when_that_branch_is_replayed():
    choice = Choice(checkpoint("en-de"), TEXT, Beam(4))
    tree, reads = what_if.branches(choice), what_if.branch_reads(choice, 1, 3)
    for number in range(0, len(tree), 5):
        target = [one for one in translator().hypotheses(TEXT, Beam(4)) if one.ids == tree[number].ids]
        trace = translator().trace(TEXT, target=target[0]) if target else None
        if trace is None:
            trace = translator().trace(TEXT, prefix=tree[number].ids)
        np.testing.assert_allclose(reads[number], trace.cross[1, 3, len(tree[number].ids) - 1], atol=1e-5)


def test_the_view_searches_on_from_a_branch():
    app = open_page("pages/what_if.py", what_if="beam tree", text=TEXT, tree_beam="3")
    (tree,) = components(app)
    branches = json.loads(tree.proto.json)["branches"]
    other = next(each for each in branches if each["step"] == 2 and "best" not in each["look"])
    app = open_page("pages/what_if.py", what_if="beam tree", text=TEXT, tree_beam="3", tree_prefix=other["ids"])
    (tree,) = components(app)
    after = json.loads(tree.proto.json)["branches"]
    assert after[2]["ids"] == other["ids"] and not app.exception
    assert all(each["ids"].startswith(other["ids"]) for each in after if each["step"] >= 2)


@pytest.mark.parametrize("prefix", ["x", "0", "3.3", "9999999", "1" * 3000, "-1", "٣"])
def test_a_beginning_that_none_can_have_is_left_out(prefix):
    app = open_page("pages/what_if.py", what_if="beam tree", tree_prefix=prefix)
    assert not app.exception and "Best:" in page_text(app)
