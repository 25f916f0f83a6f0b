"""Laws of the captions on rewritten attention: weights changed in the attention's own formula, by hand."""

import copy
import re

import numpy as np
import pytest
import torch
from support.traced import place_of, traces, translator
from torch import nn

from headlight.views.what_if.rewriting_payload import Action, Concerned, Rewriting, Scope
from headlight.views.what_if.rewriting_text import describe_next, describe_rewriting

TEXTS = [each for each in traces() if len(each.source_ids) > 3 and len(each.next_ids) > 3][2:18:5]


class Changed(nn.Module):
    """Attention by its formula, the weights of some heads and rows changed by a function of a row."""

    def __init__(self, heads, rows, change):
        super().__init__()
        self.heads, self.rows, self.change = heads, rows, change

    def forward(self, query, key, value, mask):
        scores = query @ key.mT / query.shape[-1] ** 0.5
        weights = scores.masked_fill(~mask, -torch.inf).softmax(-1) if mask is not None else scores.softmax(-1)
        for head in self.heads:
            for row in self.rows:
                weights[:, head, row] = self.change(weights[:, head, row])
        return weights @ value


def forbid(key):
    def change(row):
        row = row.clone()
        row[:, key] = 0
        return row / row.sum(-1, keepdim=True)

    return change


def focus(key):
    return lambda row: torch.eye(row.shape[-1])[key].expand_as(row)


@torch.no_grad()
def log_probabilities(model, trace):
    logits = model(torch.tensor([trace.source_ids]), torch.tensor([trace.fed_ids]))[0].double()
    return logits.log_softmax(-1)[range(len(trace.next_ids)), trace.next_ids].numpy()


@pytest.mark.parametrize("action, change", [(Action.FORBID, forbid), (Action.FOCUS, focus)])
@pytest.mark.parametrize("scope, concerned", [(Scope.HEAD, Concerned.ONE), (Scope.KIND, Concerned.ON)])
def test_what_is_said_of_a_change_is_what_attention_by_its_formula_gives(action, change, scope, concerned):
    for trace in TEXTS:
        asked = Rewriting("cross", 2, 3, scope, action, concerned, 2, 1, None)
        own = translator()
        after = own.trace(trace.source_text, interventions=[str(asked)])
        forced = own.trace(trace.source_text, target=own.hypotheses(trace.source_text)[0], interventions=[str(asked)])
        words = describe_rewriting(asked, trace, forced, after)
        model = copy.deepcopy(own.model)
        rows = [2] if concerned == Concerned.ONE else range(2, len(trace.next_ids))
        for layer in range(3) if scope == Scope.KIND else [2]:
            heads = range(8) if scope == Scope.KIND else [3]
            model.decoder[layer].cross_attention.core = Changed(heads, rows, change(1))
        old, new = (log_probabilities(each, trace) for each in (own.model, model))
        sums = [
            float(each.replace("−", "-")) for each in re.search(r", from (−?[\d.]+) to (−?\d+\.\d\d)", words).groups()
        ]
        assert sums == pytest.approx([old.sum(), new.sum()], abs=0.0051)
        token = re.search(r"“(.+?)”(?: \(position (\d+)\))?", words)
        assert place_of(trace.source_tokens, token[1], token[2]) == 1
        whom = "cross-attention layer 3, head 4" if scope == Scope.HEAD else "all heads of the cross-attention"
        assert whom in words and ("alone," in words) == (concerned == Concerned.ONE)
        assert ("the same translation" in words) == (after.next_ids == trace.next_ids)


def test_the_next_token_and_how_much_probability_moved():
    random = np.random.default_rng(3)
    stayed = set()
    for _ in range(20):
        old, new = random.dirichlet(np.full(6, 0.4)), random.dirichlet(np.full(6, 0.4))
        words = describe_next(old, new, "piece {}".format)
        first = int(re.match(r"“piece (\d)”", words)[1])
        assert old[first] == old.max()
        chances = re.findall(r"[<>]? ?[\d.]+ %", words)
        shown = [old[first], new[first]]
        if "stays" not in words:
            now = int(re.search(r"now “piece (\d)”", words)[1])
            assert new[now] == new.max() and now != first
            shown += [new[now], old[now]]
        stayed.add("stays" in words)
        shown.append(np.maximum(new - old, 0).sum())
        assert all(as_chance(text, value) for text, value in zip(chances, shown, strict=True)), words
    assert stayed == {True, False}


def as_chance(text, value):
    """A probability with one decimal, or a bound for what would be rounded too far."""
    number = float(re.search(r"[\d.]+", text)[0]) / 100
    if text.startswith("<"):
        return value < number
    if text.startswith(">"):
        return value > number
    return value == pytest.approx(number, rel=0.06, abs=0.00051)
