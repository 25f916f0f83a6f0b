"""Beam search, against greedy decoding and a search by hand with whole passes, and its tree."""

import pytest
import torch
from support.models import mark_end, random_sources, unlike_model
from support.tolerance import near

from transformer.decoding.beam import (
    Beam,
    Outcome,
    PathOutcome,
    SearchRecord,
    beam_search,
    path_to,
    record_beam_search,
    search_tree,
)
from transformer.decoding.sampling import Greedy, Hypothesis, decode
from transformer.model.transformer import Transformer

PAD, BEGIN, END = 0, 2, 3


@pytest.fixture(scope="module")
def model() -> Transformer:
    """A model whose translations end at various lengths."""
    return mark_end(unlike_model(seed=5, norm="pre"), 7.0)


@torch.inference_mode()
def log_probability(model: Transformer, source: list[int], ids: tuple[int, ...]) -> float:
    """Sum of the model's log-probabilities of these ids, from one teacher-forced pass."""
    rows = model(torch.tensor([source]), torch.tensor([[BEGIN, *ids[:-1]]]))[0].log_softmax(-1)
    return rows[torch.arange(len(ids)), torch.tensor(ids)].sum().item()


@pytest.mark.parametrize("size", [1, 3])
def test_a_batch_of_various_lengths_and_prefixes_searches_like_each_sentence_alone(model, size):
    """A prefix may have special tokens. A beam of one is greedy."""
    sources, prefixes = random_sources(9, 2, 20, 5, 5, 13), [[], [9, END], [PAD], [BEGIN, 7], [7, 8, 9], []]
    together = beam_search(model, sources, Beam(size), prefixes)
    for source, prefix, results in zip(sources, prefixes, together, strict=True):
        alone = beam_search(model, [source], Beam(size), [prefix])[0]
        assert [one.ids for one in results] == [one.ids for one in alone] and results
        assert [one.score for one in results] == near([one.score for one in alone])
        assert all(list(one.ids[: len(prefix)]) == prefix for one in results)
        assert size > 1 or results[0].ids == decode(model, [source], Greedy(), [prefix])[0].ids


def search_by_hand(model: Transformer, source: list[int], beam: Beam) -> tuple[dict, list[list]]:
    """Search with whole passes: log-probabilities of ended translations, and the unfinished ones of each step."""
    limit = min(len(source) + 50, model.config.max_length)
    live, ended, unfinished = {(): 0.0}, {}, []
    while live:
        candidates = {}
        for ids, total in live.items():
            with torch.inference_mode():
                last = model(torch.tensor([source]), torch.tensor([[BEGIN, *ids]]))[0, -1].log_softmax(-1).tolist()
            tokens = (token for token in range(len(last)) if token not in (PAD, BEGIN))
            candidates |= {(*ids, token): total + last[token] for token in tokens}
        best = dict(sorted(candidates.items(), key=lambda item: -item[1])[: beam.size])
        ended |= {ids: total for ids, total in best.items() if ids[-1] == END or len(ids) == limit}
        live = {ids: total for ids, total in best.items() if ids not in ended}
        unfinished.append(list(live))
        scores = [total / penalty(beam, len(ids)) for ids, total in ended.items()]
        bounds = [total / penalty(beam, limit) for total in live.values()]
        if len(ended) >= beam.size and bounds and max(scores) >= max(bounds):
            break
    return ended, unfinished


def penalty(beam: Beam, length: int) -> float:
    return ((5 + length) / 6) ** beam.alpha if beam.penalty == "gnmt" else length**beam.alpha


@pytest.mark.parametrize("beam", [Beam(1), Beam(2), Beam(3, 1.0, "length"), Beam(4, 0.0), Beam(5, 2.0)], ids=str)
@pytest.mark.parametrize("seed", [1, 2, 3, 7])  # in the last, an unfinished path wins after enough have ended
def test_the_record_is_that_of_a_search_by_hand(beam, seed):
    model = mark_end(unlike_model(seed=seed, vocab_size=9, max_length=12), 3.0)
    source = [4 + seed % 5, 5, 3]
    (record,) = record_beam_search(model, [source], beam)
    ended, unfinished = search_by_hand(model, source, beam)
    totals = {one.ids: one.log_probability for one in record.ended}
    assert totals.keys() == ended.keys() and list(totals.values()) == near([ended[ids] for ids in totals])
    assert [list(step) for step in record.beams] == unfinished
    assert all(one.finished == (one.ids[-1] == END) for one in record.ended)
    scores = [one.score for one in record.ended]
    assert scores == sorted(scores, reverse=True)
    assert scores == pytest.approx([one.log_probability / penalty(beam, len(one.ids)) for one in record.ended])
    alone = [log_probability(model, source, ids) / penalty(beam, 12) for ids in unfinished[-1]]
    assert len(record.score_bounds) == len(alone) and list(record.score_bounds) == near(alone)
    assert beam_search(model, [source], beam)[0] == list(record.ended[: beam.size])


def test_a_fate_is_read_off_the_record():
    best, other = Hypothesis((5, 3), -1.0, -0.9, True), Hypothesis((6, 7, 3), -2.0, -1.5, True)
    record = SearchRecord((best, other), (((5,), (6,)), ((6, 7), (6, 8)), ((6, 8, 9),)), (-0.5,))
    assert record.outcome_of((5, 3)) == PathOutcome(Outcome.ENDED, 1) and record.outcome_of([6, 7, 3]) == PathOutcome(
        Outcome.ENDED, 2
    )
    assert record.outcome_of((7, 3)) == PathOutcome(Outcome.FELL_OUT, 1)
    assert record.outcome_of((5, 9)) == PathOutcome(Outcome.FELL_OUT, 2)
    assert record.outcome_of((6, 8, 4, 3)) == PathOutcome(Outcome.FELL_OUT, 3)
    assert record.outcome_of((6, 8, 9, 3)) == PathOutcome(Outcome.OPEN, 0)


@pytest.mark.parametrize("settings", [{"size": 0}, {"size": 1001}, {"alpha": -0.1}, {"penalty": "none"}])
def test_an_impossible_beam_is_refused(settings):
    with pytest.raises(ValueError, match="must be"):
        Beam(**settings)


@pytest.mark.parametrize("size", [2, 6])
def test_the_tree_has_every_translation_of_the_record_once_with_its_outcome(model, size):
    (source,) = random_sources(9)
    (record,) = record_beam_search(model, [source], Beam(size))
    tree = search_tree(record)
    paths, parents = {ids for step in record.beams for ids in step}, {branch.parent for branch in tree}
    assert sorted(branch.ids for branch in tree) == sorted(paths | {one.ids for one in record.ended})
    for number, branch in enumerate(tree):
        assert [tree[each].ids for each in path_to(tree, number)] == [
            branch.ids[:length] for length in range(1, len(branch.ids) + 1)
        ]
        assert (branch.outcome is None) == (number in parents)
        if branch.outcome == Outcome.ENDED:
            ended = record.ended[branch.rank - 1]
            assert (ended.ids, ended.score) == (branch.ids, branch.score)
        else:
            assert record.beams[len(branch.ids) - 1][branch.position - 1] == branch.ids
        assert branch.outcome != Outcome.FELL_OUT or len(branch.ids) < len(record.beams)
        assert branch.log_probability == near(log_probability(model, source, branch.ids))
    assert {branch.outcome for branch in tree} >= {None, Outcome.ENDED, Outcome.FELL_OUT}
