"""Laws of the sentences on rewritten attention: weights changed in the attention's own formula, by hand."""

import copy
import re

import numpy as np
import pytest
import torch
from support.claims import PERCENT, as_percent, check_moved, number
from support.traced import place_of, traces, translator
from torch import nn

from headlight.views.what_if.rewriting import describe_next, describe_rewriting
from transformer.interpret.what_if.intervention import EVERY_ROW, Focus, Forbid, Heads, Rows, Shift

TEXTS = [each for each in traces() if len(each.source_ids) > 3 and len(each.target_ids) > 3][2:18:5]


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


def forbid(row):
    row = row.clone()
    row[:, 1] = 0
    return row / row.sum(-1, keepdim=True)


def focus(row):
    return torch.eye(row.shape[-1])[1].expand_as(row)


@torch.no_grad()
def log_probabilities(model, trace):
    logits = model(torch.tensor([trace.source_ids]), torch.tensor([trace.decoder_input_ids]))[0].double()
    return logits.log_softmax(-1)[range(len(trace.target_ids)), trace.target_ids].numpy()


@pytest.mark.parametrize("change, by_hand", [(Forbid, forbid), (Focus, focus)])
@pytest.mark.parametrize("heads, rows", [(Heads("cross", 2, 3), Rows(2, 2)), (Heads("cross"), Rows(2))])
def test_what_is_said_of_a_change_is_what_attention_by_its_formula_gives(change, by_hand, heads, rows):
    for trace in TEXTS:
        asked = change.of(heads, key=1, rows=rows)
        after = translator().trace(trace.source_text, interventions=[asked])
        target = translator().hypotheses(trace.source_text)[0]
        forced = translator().trace(trace.source_text, target=target, interventions=[asked])
        words = describe_rewriting(asked, trace, forced, after)
        model = copy.deepcopy(translator().model)
        changed = [2] if rows.last else range(2, len(trace.target_ids))
        for layer in range(3) if heads.layer is None else [2]:
            model.decoder[layer].cross_attention.core = Changed(
                range(8) if heads.head is None else [3], changed, by_hand
            )
        old, new = (log_probabilities(each, trace) for each in (translator().model, model))
        sums = re.search(r", from (\S+) to (\S+?)\.(?: |$)", words).groups()
        assert [number(each) for each in sums] == pytest.approx([old.sum(), new.sum()], abs=0.0051)
        check_moved(words, old - new, trace.target_tokens)
        token = re.search(r"“(.+?)”(?: \(position (\d+)\))?", words)
        assert place_of(trace.source_tokens, token[1], token[2]) == 1
        whom = "all heads of the cross-attention" if heads.head is None else "cross-attention layer 3, head 4"
        assert whom in words and ("alone," in words) == bool(rows.last)
        assert ("the same translation" in words) == (after.target_ids == trace.target_ids)


def test_every_row_is_said_only_of_rows_that_the_change_can_reach():
    """A decoder's row before a key cannot attend to it, and the first has no other key to shift a weight to."""
    trace = TEXTS[0]
    target, heads = translator().hypotheses(trace.source_text)[0], Heads("decoder", 1)
    for change, said in (
        (Focus.of(heads, key=2), "in every row that may attend to it"),
        (Shift.of(heads), "in every row that has another token"),
    ):
        forced = translator().trace(trace.source_text, target=target, interventions=[change])
        moved = (forced.decoder[1] != trace.decoder[1]).any(axis=(0, 2)).tolist()
        assert moved == [row >= getattr(change, "key", 1) for row in range(len(moved))]
        words = describe_rewriting(change, trace, forced, forced)
        assert (
            change.rows == EVERY_ROW and said in words and "all heads of masked decoder self-attention layer 2" in words
        )


def test_the_next_token_and_how_much_probability_moved():
    random = np.random.default_rng(3)
    for _ in range(20):
        old, new = random.dirichlet(np.full(6, 0.4)), random.dirichlet(np.full(6, 0.4))
        words = describe_next(old, new, "piece {}".format)
        first, now = (int(id) for id in re.findall(r"“piece (\d)”", words))
        assert old[first] == old.max() and new[now] == new.max()
        shown = [old[first], new[first], new[now], old[now], np.maximum(new - old, 0).sum()]
        said = re.findall(PERCENT, words)
        assert all(as_percent(text, value) for text, value in zip(said, shown, strict=True)), words
