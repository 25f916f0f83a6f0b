"""A study: measures computed once, shared by threads, equal to those of the functions, within the memo's bytes."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import FrozenInstanceError, is_dataclass, replace

import numpy as np
import pytest
from support.recorded import attribute_logit, leave_one_out, record_residual_stream

from transformer import Beam, Greedy, Sampling, Study, Translator, UserError
from transformer.interpret import study as module
from transformer.interpret.attention_block import record_stages
from transformer.interpret.memo import Memo, bytes_of
from transformer.interpret.positions import without_positions
from transformer.interpret.rollout import alti
from transformer.interpret.score_parts import explain_score
from transformer.interpret.what_if.importance import head_importance
from transformer.interpret.what_if.intervention import Mean, Uniform, Zero
from transformer.interpret.what_if.running import apply_interventions
from transformer.model.heads import Head

TEXT = "The cat is hungry because it has not eaten."
HEAD = Head("cross", 1, 3)


@pytest.fixture
def study(shipped) -> Study:
    return Translator(shipped.checkpoint).study(TEXT)


def assert_equal(one, other):
    """Compare numbers, arrays and dataclasses of them."""
    if isinstance(one, np.ndarray | float):
        np.testing.assert_allclose(one, other, atol=1e-5)
    elif isinstance(one, tuple):
        for each, its in zip(one, other, strict=True):
            assert_equal(each, its)
    elif is_dataclass(one):
        assert_equal(tuple(vars(one).values()), tuple(vars(other).values()))


@pytest.mark.parametrize("interventions", [(), (Zero("encoder", 0, 1), Uniform("cross", 2, 4))])
def test_measures_are_those_of_the_functions_under_the_interventions(shipped, interventions):
    study = shipped.study(TEXT, interventions=interventions)
    model, source, fed = shipped.model, study.trace.source_ids, study.trace.decoder_input_ids
    measures = (
        (study.stream(), lambda: record_residual_stream(model, source, fed)),
        (study.stages("decoder", 2), lambda: record_stages(model, source, fed, "decoder", 2)),
        (study.contributions(), lambda: alti(model, source, fed)),
        (study.logit_parts(2), lambda: attribute_logit(model, *study.trace.before(2))),
        (study.left_out(1, against=9), lambda: leave_one_out(model, *study.trace.before(1), against=9)),
        (study.importance("uniform"), lambda: head_importance(model, source, study.trace.target_ids, Uniform)),
    )
    for measured, measure in measures:
        with apply_interventions(model, interventions):
            assert_equal(measured, measure())
    if not interventions:
        assert_equal(study.parts(HEAD, 2, 1, 4), explain_score(shipped, study.trace, "cross", 1, 3, 2, 1, against=4))
    assert_equal(study.trace, shipped.record(TEXT, decoded=study.trace.target_ids, interventions=interventions)[0])


def test_each_measure_is_computed_once_for_its_arguments_and_an_error_is_not_kept(shipped):
    computed = []

    @contextmanager
    def watch(name: str):
        computed.append(name)
        yield

    study = replace(Translator(shipped.checkpoint).study(TEXT), watch=watch)
    for _ in range(2):
        assert study.lens() is study.lens() and study.parts(HEAD, 2, 1) is not study.parts(HEAD, 2, 2)
        assert study.under(Zero.of(HEAD)) is study.under(Zero.of(HEAD)) is not study.under(Uniform.of(HEAD))
        assert study.masked(study.with_target("Ja."), "causal") is study.masked(study.with_target("Ja."), "causal")
        with pytest.raises(UserError):
            study.with_target(" ")
    counts = {"lens": 1, "stream": 1, "activations": 1, "parts": 2, "under": 2, "masked": 1, "with_target": 3}
    assert {name: computed.count(name) for name in counts} == counts


def test_threads_share_one_result(study, monkeypatch):
    passes, hidden_units = [], module.record_hidden_units
    all_ask = threading.Barrier(4)

    def count(*arguments):
        passes.append(arguments)
        return hidden_units(*arguments)

    def ask(_: int):
        all_ask.wait(300)
        return study.hidden_units("decoder", 1)

    monkeypatch.setattr(module, "record_hidden_units", count)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(ask, range(4)))
    assert len(passes) == 1 and len({id(each) for each in results}) == 1


def test_a_study_and_its_results_are_read_only(study):
    with pytest.raises(FrozenInstanceError):
        study.trace = study.under().trace
    for array in (study.stream().logits, study.stages("cross", 0).weights, study.parts(HEAD, 1, 1).products):
        with pytest.raises(ValueError):
            array[...] = 0


def test_a_beam_search_is_kept_with_the_studies_of_its_ranks(shipped):
    study = shipped.study(TEXT, Beam(3))
    ranked = shipped.hypotheses(TEXT, Beam(3))
    for rank in (1, 2, 3, 9):
        assert study.ranked(rank).trace.target_ids == ranked[min(rank, 3) - 1].ids
    assert study.trace.target_ids == ranked[0].ids == study.branches()[-1].ids or study.search().ended[0] == ranked[0]


@pytest.mark.parametrize("strategy", [Beam(2), Sampling(seed=3)])
def test_under_interventions_the_same_search_runs_or_the_same_target_is_fed(shipped, strategy):
    prefix = shipped.trace(TEXT).target_ids[:2]
    study, change = shipped.study(TEXT, strategy, prefix=prefix), Zero("cross", 0)
    after, forced = study.under(change).trace, study.under(change, same_target=True).trace
    assert after.target_ids == shipped.trace(TEXT, strategy, prefix=prefix, interventions=[change]).target_ids
    assert forced.target_ids == study.trace.target_ids and forced.interventions == after.interventions == (change,)
    both = study.under(change).under(Uniform("cross", 1)).trace
    assert both.interventions == (change, Uniform("cross", 1))


@pytest.mark.parametrize("strategy", [Greedy(), Sampling(temperature=3.0, seed=3)])
def test_without_positions_sentences_are_decoded_together_as_each_alone(shipped, strategy):
    texts = "The dog sees the old cat.", "The cat sees the old dog."
    one, other = (shipped.study(text, strategy) for text in texts)
    with without_positions(shipped.model):
        alone = tuple(shipped.trace(text, strategy).target_text for text in texts)
    assert one.translations_without_positions(other) == alone
    assert one.without_positions().trace.target_text == alone[0]


def test_mean_ablation_measures_the_means_when_it_needs_them(study, shipped):
    means, measured = shipped.measure_means([(TEXT, "Die Katze.")]), []
    study = replace(study, measure_means=lambda: measured.append(1) or means)
    study.importance("zero")
    assert not measured
    expected = shipped.trace(TEXT, interventions=[Mean.of(HEAD)], means=means)
    assert study.under(Mean.of(HEAD)).trace.target_ids == expected.target_ids and measured
    losses = head_importance(shipped.model, study.trace.source_ids, study.trace.target_ids, Mean, means)
    assert_equal(study.importance("mean"), losses)


def test_what_does_not_fit_into_the_memo_is_computed_again(study):
    memo = study.translator.memo
    first, lens = study.stream(), study.lens()
    memo.limit = memo.size
    for layer in range(3):
        study.stages("encoder", layer)
    assert memo.size <= memo.limit and study.lens() is not None
    again = study.stream()
    assert again is not first
    assert_equal(again, first)
    assert_equal(study.lens(), lens)


def test_the_memo_counts_each_buffer_once_and_drops_what_was_read_longest_ago():
    array = np.zeros(1000)
    assert bytes_of({"one": array, "part": (array[5:], [array.reshape(10, 100)])}) == array.nbytes
    memo = Memo(limit=3 * array.nbytes)
    for key in "abc":
        memo.put(key, np.zeros(1000))
    assert memo.get("a", None) is not None
    memo.put("d", np.zeros(1000))
    assert [key for key in "abcd" if memo.get(key, None) is not None] == ["a", "c", "d"]
    memo.put("all", np.zeros(9000))
    assert memo.get("all", None) is not None and memo.get("d", None) is None and memo.size == 9 * array.nbytes
