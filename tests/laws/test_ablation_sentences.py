"""Laws of the sentences on ablated heads: losses by full passes of the model with slices of W_O set to zero."""

import copy
import re

import numpy as np
import pytest
import torch
from support.claims import as_printed, check_moved, number
from support.traced import traces, translator

from headlight.views.what_if.ablation import describe_change, describe_ranking, head_words
from transformer.interpret.what_if.importance import head_importance
from transformer.interpret.what_if.intervention import Heads, Zero

HEADS = {
    Heads("encoder", 1, 4): "encoder self-attention layer 2, head 5",
    Heads("decoder", 2, 7): "masked decoder self-attention layer 3, head 8",
    Heads("cross", 2, 3): "cross-attention layer 3, head 4",
}
TEXTS = traces()[1:20:4]


def without(*heads: Heads):
    """The model with the columns of W_O that read these heads set to zero: another way to the same."""
    model = copy.deepcopy(translator().model)
    width = model.config.d_k
    for one in heads:
        block = (model.encoder if one.kind == "encoder" else model.decoder)[one.layer]
        attention = block.cross_attention if one.kind == "cross" else block.self_attention
        with torch.no_grad():
            attention.output.weight[:, one.head * width : (one.head + 1) * width] = 0
    return model


@torch.no_grad()
def logits_of(model, trace):
    return model(torch.tensor([trace.source_ids]), torch.tensor([trace.decoder_input_ids]))[0].double()


def log_probabilities(model, trace):
    return logits_of(model, trace).log_softmax(-1)[range(len(trace.target_ids)), trace.target_ids].numpy()


@pytest.fixture(scope="module")
def importances():
    return [head_importance(translator().model, trace.source_ids, trace.target_ids) for trace in TEXTS]


@pytest.mark.parametrize("heads", HEADS, ids=str)
def test_what_is_lost_without_a_head_is_what_the_model_loses_whose_output_projection_ignores_it(heads, importances):
    changed = without(heads)
    for trace, found in zip(TEXTS, importances, strict=True):
        words = head_words(found, trace, heads)
        assert words.startswith(f"Without {HEADS[heads]} log P of the translation ")
        losses = log_probabilities(translator().model, trace) - log_probabilities(changed, trace)
        check_moved(words, losses, trace.target_tokens)
        best = logits_of(changed, trace)
        best[:, list(changed.config.never_chosen)] = -torch.inf
        assert ("another translation" in words) == (best.argmax(-1).tolist() != list(trace.target_ids))


def test_how_many_heads_change_a_translation_and_which_one_most_is_counted_over_all(importances):
    changing = set()
    for trace, found in zip(TEXTS, importances, strict=True):
        words = describe_ranking(found, trace)
        losses = np.concatenate([getattr(found, kind).reshape(-1, len(trace.target_ids)) for kind in found.turned])
        totals, turned = losses.sum(axis=1), sum(each.sum() for each in found.turned.values())
        changing.add(bool(turned))
        assert f"finds another translation: {turned} of {len(totals)}. " in words
        assert f"nats: {(np.abs(totals) < 0.1).sum()} of {len(totals)}." in words
        check_moved(words.split("Heads that")[0].strip(), losses[totals.argmax()], trace.target_tokens)
    assert changing == {True, False}
    given = translator().trace(TEXTS[0].source_text, target="Das ist gut.")
    assert "greedy" not in describe_ranking(
        head_importance(translator().model, given.source_ids, given.target_ids), given
    )


def test_what_became_of_a_translation_is_said_with_the_sums_of_both_runs():
    same = set()
    for trace, heads in zip(TEXTS, [[one] for one in HEADS] + [list(HEADS), [*HEADS, *HEADS]], strict=True):
        asked = list(map(Zero.of, heads))
        after = translator().trace(trace.source_text, interventions=asked)
        target = translator().hypotheses(trace.source_text)[0]
        forced = translator().trace(trace.source_text, target=target, interventions=asked)
        words = describe_change(trace, forced, after, heads)
        changed = without(*heads)
        old, new = (log_probabilities(model, trace) for model in (translator().model, changed))
        check_moved(words, old - new, trace.target_tokens)
        sums = re.search(r", from (\S+) to (\S+?)\.(?: |$)", words).groups()
        assert [number(each) for each in sums] == pytest.approx([old.sum(), new.sum()], abs=0.0051)
        assert all(HEADS[one] in words for one in heads) and ("and 3 more" in words) == (len(heads) == 6)
        same.add(after.target_ids == trace.target_ids)
        assert ("the same translation" in words) == (after.target_ids == trace.target_ids)
        if after.target_ids != trace.target_ids:
            end = log_probabilities(changed, after).sum()
            assert as_printed(re.search(r"new one has log P (\S+) under", words)[1], end)
    assert same == {True, False}
