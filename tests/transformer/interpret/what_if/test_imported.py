"""Interventions on an imported model: another activation, biases of the output, a decoder that starts with <pad>."""

import numpy as np
import pytest
import torch
from support.marian import write_model

from transformer import Translator
from transformer.interpret.what_if.alti import alti
from transformer.interpret.what_if.decoder_lens import decoder_lens
from transformer.interpret.what_if.importance import head_importance
from transformer.interpret.what_if.logit_attribution import attribute_logit
from transformer.interpret.what_if.patching import patched_logits, patching_map, question_of
from transformer.interpret.what_if.running import intervened

TEXT, OTHER = "big red dog.", "old red cat."


@pytest.fixture(scope="module")
def imported(tmp_path_factory) -> Translator:
    folder = tmp_path_factory.mktemp("marian")
    write_model(folder, seed=2)
    return Translator.import_from(folder, "cpu")


@pytest.mark.parametrize("asked", [["forbid:cross.*.*:1@1-"], ["focus:decoder.*.*:0@2-5", "uniform:encoder.0.*"]])
def test_its_decoding_is_the_replay_of_it(imported, asked):
    trace = imported.trace(TEXT, interventions=asked)
    allowed = [
        [id for id in row if id not in imported.model.config.never_chosen] for row in trace.candidate_ids.tolist()
    ]
    assert [row[0] for row in allowed] == list(trace.next_ids)
    assert trace.next_ids != imported.trace(TEXT).next_ids or not np.array_equal(
        trace.next_probabilities, imported.trace(TEXT).next_probabilities
    )


def test_its_measures_hold_their_laws(imported):
    model, trace, other = imported.model, imported.trace(TEXT), imported.trace(OTHER)
    assert decoder_lens(model, trace.source_ids)[-1].ids == trace.next_ids
    shares = alti(model, trace.source_ids, trace.fed_ids).across
    np.testing.assert_allclose(shares.sum(axis=-1), 1, atol=1e-12)
    for step in (1, len(trace.fed_ids)):
        found = attribute_logit(model, trace.source_ids, trace.fed_ids[:step], 9, 4)
        assert found.total == pytest.approx(found.logit, abs=1e-4)
    importance = head_importance(model, trace.source_ids, trace.next_ids)
    np.testing.assert_allclose(importance.log_probabilities, np.log(trace.next_probabilities), atol=1e-4)
    question = question_of(trace, other)
    cells = [cell for row in patching_map(model, question, "residual", "encoder").cells for cell in row]
    found = patched_logits(model, question, [cells])
    assert torch.equal(found[2], found[0]) and not torch.equal(found[1], found[0])
    with intervened(model, ["zero:cross.*.*"]):
        assert torch.equal(*patched_logits(model, question, [])), "nothing of the source is read"
