"""Laws of beam search with the shipped model, over 100 pairs that it was not trained on, with both penalties."""

import math
from pathlib import Path

import pytest
import torch
from support.tolerance import near

from transformer.data.batching import pad
from transformer.decoding.beam import Beam, Outcome, record_beam_search
from transformer.decoding.sampling import Greedy, decode

ALPHA = {"gnmt": 0.6, "length": 1.0}
BATCH = 50
SAMPLES = Path(__file__).parents[3] / "checkpoints" / "en-de" / "samples.tsv"


@pytest.fixture(scope="module")
def sources(shipped) -> list[list[int]]:
    lines = SAMPLES.read_text(encoding="utf-8").splitlines()[:100]
    ids = [[*shipped.tokenizer.encode(line.split("\t")[0]), shipped.tokenizer.end_id] for line in lines]
    return sorted(ids, key=len)


@pytest.fixture(scope="module")
def greedy(shipped, sources):
    return decode(shipped.model, sources, Greedy())


@pytest.fixture(scope="module", params=[(size, penalty) for size in (2, 5, 10) for penalty in ALPHA], ids=str)
def searched(request, shipped, sources):
    """A beam, and the record of its search of every sentence."""
    size, penalty = request.param
    beam = Beam(size, ALPHA[penalty], penalty)
    parts = [sources[start : start + BATCH] for start in range(0, len(sources), BATCH)]
    return beam, [record for part in parts for record in record_beam_search(shipped.model, part, beam)]


@torch.inference_mode()
def teacher_forced(model, sources, outputs) -> list[float]:
    """Each output's log-probability by one pass over source and output."""
    source = pad(sources, model.config.pad_id, model.device)
    fed = pad([[model.config.begin_id, *ids[:-1]] for ids in outputs], model.config.pad_id, model.device)
    log_probabilities = model(source, fed).log_softmax(-1)
    return [log_probabilities[row, range(len(ids)), list(ids)].sum().item() for row, ids in enumerate(outputs)]


def penalty_by_hand(beam: Beam, length: int) -> float:
    return ((5 + length) / 6) ** 0.6 if beam.penalty == "gnmt" else float(length)


def test_every_score_is_the_models_own_over_the_penalty(searched, shipped, sources):
    beam, records = searched
    best = [record.ended[0] for record in records]
    for start in range(0, len(best), BATCH):
        part = best[start : start + BATCH]
        own = teacher_forced(shipped.model, sources[start : start + BATCH], [one.ids for one in part])
        for one, expected in zip(part, own, strict=True):
            assert one.log_probability == near(expected)
            assert one.score == near(expected / penalty_by_hand(beam, len(one.ids)))


def test_the_best_score_is_never_below_that_of_greedys_path_while_the_beam_held_it(searched, greedy):
    beam, records = searched
    held = 0
    for record, one in zip(records, greedy, strict=True):
        if all(one.ids[: step + 1] in kept for step, kept in enumerate(record.kept[: len(one.ids) - 1])):
            score = one.log_probability / penalty_by_hand(beam, len(one.ids))
            ended_with_it = one.ids in {other.ids for other in record.ended}
            if ended_with_it or len(record.kept) < len(one.ids):
                held += 1
                assert record.ended[0].score >= score - 1e-4
    assert held > 75


def test_a_search_stops_only_when_nothing_in_the_beam_can_still_win(searched, sources, shipped):
    """The most that a path can get: no further loss of log P, and the penalty of the longest translation."""
    beam, records = searched
    stopped_early = 0
    for record, source in list(zip(records, sources, strict=True))[::2]:
        limit = min(len(source) + 50, shipped.model.config.max_length)
        best = max(one.log_probability / penalty_by_hand(beam, len(one.ids)) for one in record.ended)
        assert best == near(record.ended[0].score)
        if not record.kept[-1]:
            continue
        stopped_early += 1
        assert len(record.ended) >= beam.size
        open_ones = record.kept[-1]
        for own in teacher_forced(shipped.model, [source] * len(open_ones), open_ones):
            assert own / penalty_by_hand(beam, limit) <= best + 1e-4
    assert stopped_early > 10


def test_the_fate_of_greedys_path_is_what_the_record_shows(searched, greedy):
    _, records = searched
    seen = set()
    for record, one in zip(records, greedy, strict=True):
        fate = record.outcome_of(one.ids)
        seen.add(fate.outcome)
        if fate.outcome == Outcome.ENDED:
            assert record.ended[fate.place - 1].ids == one.ids
            assert sum(other.score > record.ended[fate.place - 1].score for other in record.ended) == fate.place - 1
        elif fate.outcome == Outcome.FELL_OUT:
            assert fate.place == 1 or one.ids[: fate.place - 1] in record.kept[fate.place - 2]
            assert one.ids[: fate.place] not in record.kept[fate.place - 1]
        else:
            assert len(record.kept) < len(one.ids) and one.ids[: len(record.kept)] in record.kept[-1]
    assert Outcome.ENDED in seen
    assert math.isfinite(sum(one.score for record in records for one in record.ended))
