"""Greedy decoding, sampling and beam search, against plain decoding, the textbook and a search by hand."""

import math

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.models import bias_logits, mark_end, random_sources, unlike_model
from support.tolerance import near

from transformer.data.batching import Example
from transformer.decoding.beam import (
    Beam,
    Outcome,
    PathOutcome,
    SearchRecord,
    beam_search,
    best_ids,
    path_to,
    record_beam_search,
    search_tree,
)
from transformer.decoding.sampling import (
    LENGTH_MARGIN,
    Greedy,
    Hypothesis,
    Sampling,
    decode,
    length_limits,
    most_probable,
    truncate,
)
from transformer.evaluation import Confidence, concatenate, measure_confidence
from transformer.model.transformer import Transformer

PAD, BEGIN, END = 0, 2, 3
STRATEGIES = [Greedy(), Sampling(seed=5), Sampling(temperature=3.0, top_k=7, seed=5)]


@pytest.fixture(scope="module")
def model() -> Transformer:
    """A model whose translations end at various lengths."""
    return mark_end(unlike_model(seed=5, norm="pre"), 7.0)


@torch.no_grad()
def replay(model: Transformer, source: list[int], ids: tuple[int, ...]) -> torch.Tensor:
    """Return log-probabilities of each next token, from one uncached teacher-forced pass: [target, vocab]."""
    fed = [model.config.begin_id, *ids[:-1]]
    return model(torch.tensor([source]), torch.tensor([fed]))[0].log_softmax(-1)


@torch.no_grad()
def plain_greedy(model: Transformer, source: list[int], prefix: list[int]) -> list[int]:
    """Decode greedily with a full pass for each token, no cache, no batch."""
    ids = [*prefix]
    while len(ids) < min(len(source) + LENGTH_MARGIN, model.config.max_length):
        logits = model(torch.tensor([source]), torch.tensor([[BEGIN, *ids]]))[0, -1]
        logits[[PAD, BEGIN]] = -torch.inf
        ids.append(int(logits.argmax()))
        if ids[-1] == END:
            break
    return ids


def test_cached_greedy_decoding_equals_plain_decoding(model):
    """Sources of various lengths in one batch, some with a prefix."""
    sources = random_sources(*range(2, 20), seed=10)
    prefixes = [[11, 12] if len(source) % 5 == 0 else [] for source in sources]
    results = [list(one.ids) for one in decode(model, sources, Greedy(), prefixes)]
    assert results == list(map(plain_greedy, [model] * len(sources), sources, prefixes))
    assert len({len(ids) for ids in results}) > 3, "the test needs translations of various lengths"


def test_a_hidden_source_token_is_read_by_no_step(model):
    sources, hidden = random_sources(4, 9, 7), torch.zeros(3, 9, dtype=torch.bool)
    hidden[0, 1] = hidden[1, 5] = hidden[1, 6] = True
    for source, row, one in zip(sources, hidden, decode(model, sources, Greedy(), hidden=hidden), strict=True):
        with torch.inference_mode():
            caches = model.start_caches(model.encode(torch.tensor([source]), None), len(one.ids))
            steps = [
                model.step(torch.tensor([[id]]), caches, ~row[None, None, None, : len(source)])
                for id in (BEGIN, *one.ids[:-1])
            ]
        rows = torch.cat(steps).log_softmax(-1)
        assert one.log_probability == near(rows[torch.arange(len(one.ids)), torch.tensor(one.ids)].sum().item())


@pytest.mark.parametrize("strategy", [*STRATEGIES, Beam(3)])
def test_without_their_probabilities_the_translations_are_the_same(model, strategy):
    sources, prefixes = random_sources(4, 9, 7, 9), [[], [6], [], [8, 5]]
    ids = best_ids(model, sources, strategy, prefixes)
    if isinstance(strategy, Beam):
        assert list(map(tuple, ids)) == [results[0].ids for results in beam_search(model, sources, strategy, prefixes)]
    else:
        assert list(map(tuple, ids)) == [results.ids for results in decode(model, sources, strategy, prefixes)]
    assert (*ids[1][:1], *ids[3][:2]) == (6, 8, 5)


def test_of_equal_scores_the_first_is_chosen_in_every_precision():
    scores = torch.tensor([[1.0, 3.0, 3.0], [-torch.inf, -torch.inf, -2.0], [torch.nan, 1.0, torch.nan]])
    for each in (scores, scores.bfloat16()):
        assert most_probable(each).tolist() == each.argmax(dim=-1).tolist() == [1, 2, 0]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_log_probability_is_the_sum_of_the_models_own_up_to_the_first_end_of_sentence(model, strategy):
    sources = random_sources(4, 9, 7, 12, 3, 15)
    results = decode(model, sources, strategy)
    for source, one in zip(sources, results, strict=True):
        rows = replay(model, source, one.ids)
        assert one.log_probability == near(rows[torch.arange(len(one.ids)), torch.tensor(one.ids)].sum().item())
        assert one.score == one.log_probability
        assert one.finished == (one.ids[-1] == END) and END not in one.ids[:-1]
    assert any(one.finished for one in results)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_padding_and_begin_are_never_emitted_though_the_model_loves_them(strategy):
    model = bias_logits(unlike_model(), {PAD: 1e4, BEGIN: 1e4})
    for one in decode(model, random_sources(2, 5, 11), strategy):
        assert PAD not in one.ids and BEGIN not in one.ids


def test_the_length_limit_is_the_sources_and_a_margin_within_the_models_positions():
    model = bias_logits(unlike_model(max_length=60), {END: -1e4})
    sources = random_sources(3, 40)
    assert length_limits(model, sources) == [53, 60]
    results = decode(model, sources, Greedy())
    assert [len(one.ids) for one in results] == [53, 60]
    assert not any(one.finished for one in results)


def test_the_seed_alone_decides_and_the_global_random_state_stays(model):
    sources, before = random_sources(5, 9, 12), torch.get_rng_state()
    one, same = (decode(model, sources, Sampling(seed=3)) for _ in range(2))
    assert one == same
    assert [h.ids for h in decode(model, sources, Sampling(seed=4))] != [h.ids for h in one]
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("strategy", [Sampling(top_k=1), Sampling(temperature=1e-4)])
def test_sampling_from_the_best_alone_or_in_the_cold_is_greedy(model, strategy):
    sources = random_sources(5, 9, 12)
    assert [h.ids for h in decode(model, sources, strategy)] == [h.ids for h in decode(model, sources, Greedy())]


@pytest.mark.parametrize("top_k", [0, 5])
def test_drawn_shares_are_the_models_probabilities_of_the_most_probable_tokens(top_k):
    """400 sentences in one batch, first token each: every share within 4 standard errors."""
    model = unlike_model()
    source = random_sources(6)[0]
    with torch.no_grad():
        logits = model(torch.tensor([source]), torch.tensor([[BEGIN]]))[0, 0] / 1.5
    logits[[PAD, BEGIN]] = -torch.inf
    if top_k:
        logits[logits.argsort(descending=True)[top_k:]] = -torch.inf
    expected = logits.softmax(-1)
    drawn = decode(model, [source] * 400, Sampling(temperature=1.5, top_k=top_k, seed=9))
    shares = torch.bincount(torch.tensor([one.ids[0] for one in drawn]), minlength=31) / 400
    error = (expected * (1 - expected) / 400).sqrt()
    assert ((shares - expected).abs() <= 4 * error + 1e-3 * (expected > 0)).all()


def test_bad_input_is_refused(model):
    for bad in ({"temperature": 0.0}, {"temperature": -1.0}, {"top_k": -1}):
        with pytest.raises(ValueError, match="temperature must be positive"):
            Sampling(**bad)
    for bad in ({"temperature": 0}, {"temperature": math.nan}, {"top_k": -1}, {"top_p": 0}, {"top_p": 1.1}):
        with pytest.raises(ValueError, match="cannot truncate"):
            truncate(np.zeros(3), **bad)
    for sources in ([], [[]], [[5] * 21]):
        with pytest.raises(ValueError, match="1 to 20 ids"):
            decode(model, sources, Greedy())
    with pytest.raises(ValueError, match="^a prefix is as long as its translation may become$"):
        decode(model, random_sources(5), Greedy(), [[7] * 20])
    with pytest.raises(ValueError, match="one prefix a source"):
        decode(model, random_sources(5), Greedy(), [[7], [8]])


def truncated_by_hand(logits, temperature, top_k, top_p, forbidden) -> list[float]:
    """Return the probabilities from which sampling draws, token by token."""
    scaled = torch.tensor(logits, dtype=torch.float64).div(temperature).softmax(-1).tolist()
    ranked = [token for token in sorted(range(len(logits)), key=lambda token: -logits[token]) if token not in forbidden]
    ranked, mass, nucleus = ranked[: top_k or None], 0.0, []
    total = math.fsum(scaled[token] for token in ranked)
    for token in ranked:
        assume(abs(mass - top_p) > 1e-9)
        if mass < top_p:
            nucleus.append(token)
        mass += scaled[token] / total
    total = math.fsum(scaled[token] for token in nucleus)
    return [scaled[token] / total if token in nucleus else 0.0 for token in range(len(logits))]


@settings(deadline=None, derandomize=True, database=None, max_examples=200)
@given(
    logits=st.lists(st.integers(-12, 12).map(lambda number: number / 4), min_size=3, max_size=9),
    temperature=st.sampled_from((0.3, 1.0, 2.5)),
    top_k=st.integers(0, 10),
    top_p=st.sampled_from((0.01, 0.5, 0.7, 0.9, 0.999)),
    forbidden=st.sets(st.integers(0, 2), max_size=2),
)
def test_truncation_is_the_textbooks(logits, temperature, top_k, top_p, forbidden):
    result = truncate(np.float32(logits), temperature, top_k, top_p, tuple(forbidden))
    assert result.final == near(truncated_by_hand(logits, temperature, top_k, top_p, forbidden))
    assert (result.final > 0).tolist() == result.retained.tolist()
    assert result.plain == near(torch.tensor(logits).softmax(-1)) and result.forbidden == tuple(forbidden)
    assert result.scaled == near((torch.tensor(logits) / temperature).softmax(-1))
    assert result.order.tolist() == sorted(range(len(logits)), key=lambda token: -logits[token])
    assert result.logits.tolist() == logits and result.logits.dtype == result.plain.dtype == np.float64


def test_the_fewest_tokens_with_half_the_mass_are_one_of_two_equal_ones_and_without_a_cut_all_stay():
    assert truncate(np.zeros(2), top_p=0.5).retained.tolist() == [True, False]
    assert truncate(np.array([500.0, -500.0, 0.0])).retained.all()


def test_the_confidence_is_that_of_each_token_alone():
    model = unlike_model(3)
    sources, targets = random_sources(2, 5, 3, 7), random_sources(4, 2, 6, 5, seed=9)
    examples = [Example(tuple(source), (BEGIN, *target)) for source, target in zip(sources, targets, strict=True)]
    result = concatenate([measure_confidence(model, examples[:2]), measure_confidence(model, examples[2:])])
    expected = []
    with torch.inference_mode():
        for example in examples:
            probabilities = model(torch.tensor([example.source]), torch.tensor([example.target[:-1]]))[0].softmax(-1)
            for row, following in zip(probabilities, example.target[1:], strict=True):
                expected.append((float(row.max()), int(row.argmax()) == following, float(row[following])))
    measured = sorted(zip(result.best.tolist(), result.right.tolist(), result.reference.tolist(), strict=True))
    assert np.array(measured) == near(np.array(sorted(expected)))


def test_calibration_counts_every_token_once():
    result = Confidence(np.array([0.05, 0.55, 0.58, 1.0]), np.array([False, True, False, True]), np.zeros(4))
    assert result.calibration() == [(0.05, 0.0, 1), (pytest.approx(0.565), 0.5, 2), (1.0, 1.0, 1)]


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
