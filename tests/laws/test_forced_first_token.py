"""A first token that is forced, such as the language to write, was not chosen: no number counts it."""

import numpy as np
import pytest
import torch
from support.families import write_family
from support.models import small_model

from headlight.app.results import CheckpointFiles
from headlight.views.research.contrast import most_doubtful_step
from headlight.views.research.contributions import USUAL_PARTS, source_shares
from headlight.views.what_if.own_translation import describe_own, describe_where
from transformer import Beam, Trace, Translator
from transformer.arrays import to_array
from transformer.checkpoint import save_checkpoint
from transformer.data.batching import Example
from transformer.exchange.importing import import_translator
from transformer.interpret.activations import Request, record
from transformer.interpret.rollout import alti
from transformer.interpret.what_if.importance import head_importance, measure_importance
from transformer.interpret.what_if.intervention import Zero
from transformer.interpret.what_if.running import measure_means

TEXTS = ("red dog", "small cat", "the old house is red")


@pytest.fixture(scope="module", params=["nllb", "bart-cnn"])
def translator(request, tmp_path_factory) -> Translator:
    folder = tmp_path_factory.mktemp(request.param)
    write_family(folder, request.param)
    return import_translator(folder, "cpu")


@pytest.fixture(scope="module")
def traces(translator) -> list[Trace]:
    return [translator.trace(text) for text in TEXTS]


def test_log_p_is_that_of_the_search(translator, traces):
    for trace in traces:
        one = translator.hypotheses(trace.source_text, Beam(3))[0]
        again = translator.trace(trace.source_text, target=one)
        assert again.log_probability == pytest.approx(one.log_probability, abs=1e-3)
        assert trace.num_forced == 1 and trace.log_probabilities[0] == 0 and trace.is_greedy.all()


def test_only_a_token_that_was_chosen_can_turn(translator, traces):
    """A head turns a translation where greedy decoding from the forced token on goes another way without it."""
    trace, turned = traces[0], []
    result = head_importance(translator.model, trace.source_ids, trace.target_ids)
    assert result.log_probabilities.sum() == pytest.approx(trace.log_probability, abs=1e-3)
    for heads, _ in result.ranked()[::2]:
        assert result.of(heads.kind)[heads.layer, heads.head, 0] == 0
        without = translator.trace(trace.source_text, interventions=[Zero.of(heads)])
        turned.append(bool(result.turned[heads.kind][heads.layer, heads.head]))
        assert turned[-1] == (without.target_ids != trace.target_ids)
    assert not all(turned)


def test_findings_count_the_tokens_that_were_chosen(traces):
    for trace in traces:
        chosen = trace.log_probabilities[1:]
        total = describe_own(trace, trace)["sum"]
        assert (total["log_probability"], total["tokens"]) == (pytest.approx(chosen.sum()), len(chosen))
        assert describe_where(trace).name == "all_first" and most_doubtful_step(trace) >= 1


def test_what_is_usual_of_the_source_leaves_it_out(translator, tmp_path):
    folder, lines = tmp_path / "made", [f"{text}\t{text}\n" for text in TEXTS]
    save_checkpoint(folder, translator.checkpoint, torch.float32)
    (folder / "samples.tsv").write_text("".join(lines), encoding="utf-8")
    checkpoint = CheckpointFiles.now(folder)
    shares = np.concatenate([source_shares(checkpoint, part) for part in range(USUAL_PARTS)])
    expected = []
    for text in TEXTS:
        trace = translator.trace(text, target=text)
        across = alti(translator.model, trace.source_ids, trace.decoder_input_ids).across[-1]
        expected += [row[: len(trace.source_ids)].sum() for row in across][1:]
    np.testing.assert_allclose(sorted(shares), sorted(expected), atol=1e-5)


def test_importance_and_means_of_a_corpus_leave_it_out():
    model = small_model(forced_first_token=True)
    examples = [Example((5, 6, 3), (2, 9, 8, 7, 3)), Example((7, 4, 8, 3), (2, 9, 6, 3))]
    rows, outputs, losses = [], [], []
    for each in examples:
        fed = [each.target[:-1]]
        seen = record(model, [each.source], fed, Request(keep=("decoder.*.cross_attention.core",)))
        outputs += [to_array(core.output[0, :, 1:]) for core in seen.attention("cross")[:1]]
        scores = to_array(seen.logits[0].log_softmax(-1))
        rows += [scores[step, id] for step, id in enumerate(each.target[1:]) if step]
        losses.append(head_importance(model, each.source, each.target[1:]).total("cross"))
    result = measure_importance(model, examples).importance()
    assert result.log_probabilities == pytest.approx(np.mean(rows), abs=1e-5)
    np.testing.assert_allclose(result.cross, sum(losses) / len(rows), atol=1e-5)
    means = measure_means(model, examples).cross[0]
    np.testing.assert_allclose(means, np.concatenate(outputs, axis=1).mean(axis=1), atol=1e-5)
