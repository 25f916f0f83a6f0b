"""Beam search: the tree's branches and what is said of them, and the view."""

import json
import re

import numpy as np
import pytest
from support.claims import as_percent, as_printed, told
from support.pages import components, open_page
from support.traced import traces, translator

from headlight.app.results import TranslationRequest, checkpoint, what_if
from headlight.views.decoding.search_content import describe_tree, tree_payload
from transformer.decoding.beam import Beam, Branch, Outcome, best_branch, search_tree

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


def test_the_best_and_its_continuations_stand_above_and_on_one_row_each_in_words():
    reads = [[0.25, 0.75]] * len(MADE)
    drawn = tree_payload(MADE, reads, ("<b>", "</s>"), "It reads: ", lambda id: f"<piece {id}>")["branches"]
    assert [each["ids"] for each in drawn] == ["7", "7.3", "7.5", "8", "8.3", "9"]
    assert [each["row"] for each in drawn] == [0, 0, 1, 2, 2, 3]
    assert [each["parent"] for each in drawn] == [-1, 0, 0, -1, 3, -1]
    assert [each["look"] for each in drawn] == ["best", "best ended", "", "", "ended", "dropped"]
    assert [each["note"] for each in drawn] == ["", "1", "", "", "2", ""]
    assert drawn[1]["chance"] == pytest.approx(np.exp(-0.1), abs=1e-4) and drawn[1]["token"] == "<piece 3>"
    ends = ["in the beam.", "It ended, rank 1 with the score −0.50.", "Unfinished when the search stopped."]
    ends += ["in the beam.", "rank 2 with the score −0.80.", "None of its continuations was kept."]
    for branch, end in zip(drawn, ends, strict=True):
        said = re.match(r"“(.+?)”, step (\d): (.+? %) after .* all so far (−\S+\d)", branch["words"])
        assert branch["words"].endswith(end) and said[1] == branch["token"] and int(said[2]) == branch["step"] + 1
        assert as_percent(said[3], branch["chance"]) and as_printed(said[4], branch["log_probability"])


GREW = re.compile(r"grew (\d+) branches, one for each token: of these (\d+) ended, (\d+) fell .*?, (\d+) stayed open")
BEHIND = re.compile(r"After step (\d+) the best translation was only in place (\d+)\. At no step was it farther back ")


def check_behind(text, places):
    """What is said of the places of the best in the beam, step by step."""
    if not places:
        assert text.startswith("The best translation ended with its first token.")
    elif max(places) == 1:
        assert text.startswith("The best translation led the unfinished ones at every step.")
    else:
        step, place = map(int, BEHIND.match(text).groups())
        assert place == max(places) == places[step - 1], text


def test_what_became_of_all_branches_and_where_the_best_was_behind_is_counted():
    behind = 0
    for trace in traces()[:12:2]:
        record = translator().beam_search(trace.source_text, Beam(3))
        text = told(describe_tree(search_tree(record)))
        prefixes = {ids for kept in record.kept for ids in kept} | {one.ids for one in record.ended}
        went_on = {ids[:-1] for ids in prefixes}
        ended = {one.ids for one in record.ended}
        left = list(prefixes - went_on - ended)
        is_open = [ids for ids in left if len(ids) == len(record.kept)]
        sizes = [len(prefixes), len(ended), len(left) - len(is_open), len(is_open)]
        assert [int(each) for each in GREW.search(text).groups()] == sizes
        best = record.ended[0].ids
        places = [1 + list(kept).index(best[: len(kept[0])]) for kept in record.kept[: len(best) - 1]]
        check_behind(text, places)
        behind += max(places, default=1) > 1
    assert behind
    assert best_branch(MADE) == 3 and told(describe_tree(MADE[:3])).startswith(
        "No translation had ended when the search"
    )


def test_the_place_that_is_named_is_the_farthest_back_on_the_way_to_the_best():
    """Over random places in the beam of the best one's beginnings."""
    random = np.random.default_rng(1)
    for _ in range(300):
        places = random.integers(1, 11, random.integers(0, 9)).tolist()
        way = [Branch(tuple(range(at + 1)), at - 1, -1.0 - at, place) for at, place in enumerate(places)]
        last = len(places)
        end = Branch(tuple(range(last + 1)), last - 1, -1.0 - last, None, Outcome.ENDED, 1, -0.5)
        others = [Branch((90 + at,), -1, -9.0, at, Outcome.FELL_OUT) for at in range(1, 4)]
        check_behind(told(describe_tree([*way, end, *others])), places)


def test_a_branch_reads_what_the_head_reads_when_that_branch_is_replayed():
    choice = TranslationRequest(checkpoint("en-de"), TEXT, Beam(4))
    tree, reads = what_if.branches(choice), what_if.branch_reads(choice, 1, 3)
    for number in range(0, len(tree), 5):
        target = [one for one in translator().hypotheses(TEXT, Beam(4)) if one.ids == tree[number].ids]
        how = {"target": target[0]} if target else {"prefix": tree[number].ids}
        trace = translator().trace(TEXT, **how)
        np.testing.assert_allclose(reads[number], trace.cross[1, 3, len(tree[number].ids) - 1], atol=1e-5)


@pytest.mark.parametrize("strategy", [{"decoding": "beam", "beam": "3", "alpha": "0.0"}, {}])
def test_the_view_has_a_table_and_a_tree_and_searches_on_from_a_branch(strategy, shipped):
    beam = Beam(3, 0.0) if strategy else Beam()
    app = open_page("pages/decoding.py", decoding_view="beam search", text=TEXT, **strategy)
    table = next(element.proto.body for element in app.get("html") if "What beam search found" in element.proto.body)
    for one in shipped.hypotheses(TEXT, beam):
        assert f"<td>{one.score:.3f}</td>" in table and f">{one.log_probability:.3f}</td>" in table
    (tree,) = components(app)
    branches = json.loads(tree.proto.json)["branches"]
    other = next(each for each in branches if each["step"] == 2 and "best" not in each["look"])
    app = open_page("pages/decoding.py", decoding_view="beam search", text=TEXT, prefix=other["ids"], **strategy)
    (tree,) = components(app)
    after = json.loads(tree.proto.json)["branches"]
    assert after[2]["ids"] == other["ids"]
    assert all(each["ids"].startswith(other["ids"]) for each in after if each["step"] >= 2)
    assert app.button(key="from_the_start")
