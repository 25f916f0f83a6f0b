"""Laws of the captions on ablated heads: losses by full passes of the model with slices of W_O set to zero."""

import copy
import re

import numpy as np
import pytest
import torch
from support.traced import place_of, traces, translator

from headlight.views.what_if.ablation_text import describe_change, describe_ranking, head_words
from transformer.interpret.what_if.importance import head_importance
from transformer.interpret.what_if.intervention import Heads

HEADS = {
    Heads("encoder", 1, 4): "encoder self-attention layer 2, head 5",
    Heads("decoder", 2, 7): "masked decoder self-attention layer 3, head 8",
    Heads("cross", 2, 3): "cross-attention layer 3, head 4",
}
STEPS = (
    r"(falls|rises) by (\d+\.\d\d) nats(?:, from \S+ to \S+)?, "
    r"most at “(.+?)”(?: \(output token (\d+)\))? \(by (\d+\.\d\d)\)"
)
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
    return model(torch.tensor([trace.source_ids]), torch.tensor([trace.fed_ids]))[0].double()


def log_probabilities(model, trace):
    return logits_of(model, trace).log_softmax(-1)[range(len(trace.next_ids)), trace.next_ids].numpy()


def is_said(text, losses, tokens):
    """Whether these words on a loss of log P are so; at two digits nothing may be said of less than 0.005."""
    if "stays as it is" in text:
        return np.abs(losses).max() < 0.0051
    way, total, token, place, most = re.search(STEPS, text).groups()
    at = place_of(tokens, token, place)
    sign = 1 if way == "falls" else -1
    return (
        sign * losses.sum() == pytest.approx(float(total), abs=0.0051)
        and sign * losses[at] == pytest.approx(float(most), abs=0.0051)
        and sign * losses[at] >= (sign * losses).max() - 1e-4
    )


@pytest.mark.parametrize("heads", HEADS, ids=str)
def test_what_is_lost_without_a_head_is_what_the_model_loses_whose_output_projection_ignores_it(heads):
    changed = without(heads)
    for trace in TEXTS:
        found = head_importance(translator().model, trace.source_ids, trace.next_ids)
        words = head_words(found, trace, heads)
        assert words.startswith(f"Without {HEADS[heads]} log P of the translation ")
        losses = log_probabilities(translator().model, trace) - log_probabilities(changed, trace)
        assert is_said(words, losses, trace.next_tokens), words
        best = logits_of(changed, trace)
        best[:, list(changed.config.never_chosen)] = -torch.inf
        turned = best.argmax(-1).tolist() != list(trace.next_ids)
        assert ("another translation" in words) == turned


def test_which_single_head_breaks_a_translation_is_counted_over_all_heads():
    told = set()
    for trace in TEXTS:
        found = head_importance(translator().model, trace.source_ids, trace.next_ids)
        words = describe_ranking(found, trace)
        totals = np.concatenate([getattr(found, kind).sum(-1).ravel() for kind in ("encoder", "decoder", "cross")])
        breaking = sum(found.turned[kind].sum() for kind in found.turned)
        told.add(bool(breaking))
        if breaking:
            assert re.search(rf"\? {breaking} of the {totals.size} (does|do): ", words), words
        else:
            assert words.startswith(f"No single head of the {totals.size} breaks this translation:")
        assert re.search(rf"{(np.abs(totals) < 0.1).sum()} heads? alone moves? it by less than 0.1 nats", words)
        assert re.search(r"log P falls by (\d+\.\d\d)", words)[1] == f"{totals.max():.2f}"
    assert told == {True, False}
    given = translator().trace(TEXTS[0].source_text, target="Das ist gut.")
    words = describe_ranking(head_importance(translator().model, given.source_ids, given.next_ids), given)
    assert "breaks" not in words and "greedy" not in words


def test_what_became_of_a_translation_is_said_with_the_sums_of_both_runs():
    same = set()
    for trace, heads in zip(TEXTS, [[one] for one in HEADS] + [list(HEADS), list(HEADS)[:2]], strict=True):
        own, asked = translator(), [f"zero:{one}" for one in heads]
        after = own.trace(trace.source_text, interventions=asked)
        forced = own.trace(trace.source_text, target=own.hypotheses(trace.source_text)[0], interventions=asked)
        words = describe_change(trace, forced, after, heads)
        changed = without(*heads)
        old, new = (log_probabilities(model, trace) for model in (own.model, changed))
        sums = [
            float(each.replace("−", "-")) for each in re.search(r", from (−?[\d.]+) to (−?\d+\.\d\d)", words).groups()
        ]
        assert sums == pytest.approx([old.sum(), new.sum()], abs=0.0051)
        assert is_said(words, old - new, trace.next_tokens), words
        for one in heads:
            assert HEADS[one] in words
        same.add(after.next_ids == trace.next_ids)
        assert ("the same translation" in words) == (after.next_ids == trace.next_ids)
        if "The new translation has log P" in words:
            end = log_probabilities(changed, after).sum()
            said = re.search(r"new translation has log P (−?[\d.]+\d)", words)[1].replace("−", "-")
            assert float(said) == pytest.approx(end, abs=0.0051)
    assert same == {True, False}
