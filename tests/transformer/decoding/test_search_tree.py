"""A search as a tree: each branch is a path of the beam with its probability and its outcome."""

import pytest
import torch
from support.tolerance import near

from transformer.decoding.beam import Beam, Outcome, path_to, record_beam_search, search_tree

TEXTS = ("I think that he has never read this book.", "Tom lives in Boston.")


@pytest.fixture(scope="module", params=[(text, size) for text in TEXTS for size in (2, 6)], ids=str)
def searched(request, shipped):
    text, size = request.param
    source = [*shipped.tokenizer.encode(text), shipped.tokenizer.end_id]
    return source, record_beam_search(shipped.model, [source], Beam(size))[0]


def test_every_translation_of_the_record_is_one_branch_and_grew_from_its_beginning(searched):
    _, record = searched
    tree = search_tree(record)
    paths = {ids for step in record.kept for ids in step} | {one.ids for one in record.ended}
    assert len(tree) == len(paths) and {branch.ids for branch in tree} == paths
    for number, branch in enumerate(tree):
        if branch.parent < 0:
            assert len(branch.ids) == 1
        else:
            assert branch.parent < number and tree[branch.parent].ids == branch.ids[:-1]
        assert [len(tree[each].ids) for each in path_to(tree, number)] == list(range(1, len(branch.ids) + 1))


def test_the_outcome_of_a_branch_is_that_of_its_path_in_the_record(searched):
    _, record = searched
    tree = search_tree(record)
    parents = {branch.parent for branch in tree}
    for number, branch in enumerate(tree):
        assert (branch.outcome is None) == (number in parents)
        if branch.outcome == Outcome.ENDED:
            assert (
                record.ended[branch.rank - 1].ids == branch.ids and branch.score == record.ended[branch.rank - 1].score
            )
        else:
            assert record.kept[len(branch.ids) - 1][branch.place - 1] == branch.ids
        if branch.outcome == Outcome.FELL_OUT:
            assert len(branch.ids) < len(record.kept)
    assert {branch.outcome for branch in tree} >= {None, Outcome.ENDED, Outcome.FELL_OUT}


@torch.no_grad()
def test_the_log_probability_of_a_branch_is_the_models_own(searched, shipped):
    source, record = searched
    for branch in search_tree(record)[::3]:
        fed = torch.tensor([[shipped.tokenizer.begin_id, *branch.ids[:-1]]])
        expected = (
            shipped.model(torch.tensor([source]), fed)[0].log_softmax(-1)[range(len(branch.ids)), branch.ids].sum()
        )
        assert branch.log_probability == near(float(expected))
