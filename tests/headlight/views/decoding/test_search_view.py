"""Beam search: facts of the tree, and the view."""

import numpy as np
from support.pages import open_page, payload
from support.traces import translator

from headlight.app.results import TranslationRequest, checkpoint, study
from transformer.decoding.beam import Beam

TEXT = "He bought a ticket at the train station."


def test_a_branch_reads_what_the_head_reads_when_that_branch_is_replayed():
    searched = study(TranslationRequest(checkpoint("en-de"), TEXT, Beam(4)))
    tree, reads = searched.branches(), searched.branch_reads(1, 3)
    for number in range(0, len(tree), 5):
        target = [one for one in translator().hypotheses(TEXT, Beam(4)) if one.ids == tree[number].ids]
        how = {"target": target[0]} if target else {"prefix": tree[number].ids}
        trace = translator().trace(TEXT, **how)
        np.testing.assert_allclose(reads[number], trace.cross[1, 3, len(tree[number].ids) - 1], atol=1e-5)


def test_the_view_has_a_table_and_a_tree_and_searches_on_from_a_branch(shipped):
    query = {"decoding_view": "beam search", "text": TEXT, "decoding": "beam", "beam": "3", "alpha": "0.0"}
    app = open_page("pages/decoding.py", **query)
    table = next(each.proto.body for each in app.get("html") if "Scores of these translations" in each.proto.body)
    for one in shipped.hypotheses(TEXT, Beam(3, 0.0)):
        assert f"<td>{one.score:.3f}</td>" in table and f">{one.log_probability:.3f}</td>" in table
    branches = payload(app)["branches"]
    other = max((each for each in branches if len(each["ids"]) == 3), key=lambda each: each["place"] or 0)["ids"]
    app = open_page("pages/decoding.py", **query, prefix=".".join(map(str, other)))
    after = payload(app)["branches"]
    assert after[2]["ids"] == other
    assert all(each["ids"][:3] == other for each in after if len(each["ids"]) >= 3)
    assert app.button(key="from_the_start")
