"""Laws of the sentences on rewritten attention: weights changed in the attention's own formula, by hand."""

import copy
import re

import numpy as np
import pytest
import torch
from support.claims import PERCENT, as_percent, check_moved, check_sums, told
from support.traced import place_of, traces, translator
from torch import nn

from headlight.plots.names import kind_words
from headlight.views.what_if.rewriting import describe_next, describe_rewriting
from transformer.interpret.what_if import intervention as changes
from transformer.interpret.what_if.intervention import Focus, Forbid, Rows, Shift
from transformer.model.head_ref import HeadRef

TEXTS = [each for each in traces() if len(each.source_ids) > 3 and len(each.target_ids) > 3][2:18:5]


class Changed(nn.Module):
    """Attention by its formula, the weights of some heads and rows changed by a function of a row."""

    def __init__(self, heads, rows, change):
        super().__init__()
        self.heads, self.rows, self.change = heads, rows, change

    def forward(self, query, key, value, mask, bias=None, scale=None):
        assert bias is None and scale is None
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
@pytest.mark.parametrize("heads, rows", [(HeadRef("cross", 2, 3), Rows(2, 2)), (HeadRef("cross"), Rows(2))])
def test_what_is_said_of_a_change_is_what_attention_by_its_formula_gives(change, by_hand, heads, rows):
    for trace in TEXTS:
        asked = change.of(heads, key=1, rows=rows)
        after = translator().trace(trace.source_text, interventions=[asked])
        target = translator().hypotheses(trace.source_text)[0]
        forced = translator().trace(trace.source_text, target=target, interventions=[asked])
        words = told(describe_rewriting(asked, trace, forced, after))
        model = copy.deepcopy(translator().model)
        changed = [2] if rows.last else range(2, len(trace.target_ids))
        for layer in range(3) if heads.layer is None else [2]:
            model.decoder[layer].cross_attention.core = Changed(
                range(8) if heads.head is None else [3], changed, by_hand
            )
        old, new = (log_probabilities(each, trace) for each in (translator().model, model))
        check_sums(words, old.sum(), new.sum())
        check_moved(words, old - new, trace.target_tokens)
        token = re.search(r"“(.+?)”(?: \(position (\d+)\))?", words)
        assert place_of(trace.source_tokens, token[1], token[2]) == 1
        whom = "all heads of the cross-attention" if heads.head is None else "cross-attention layer 3, head 4"
        assert whom in words and ("alone, log P" in words) == bool(rows.last)
        assert ("translation stays the same" in words) == (after.target_ids == trace.target_ids)


def rewritten(change, old, last):
    """One head's weights [rows, keys] after a change to all its rows, and the rows that it is said of, by hand.

    The last row's mask lets it attend to `last` keys, each row before it to one fewer, or all to as many.
    """
    rows, keys = old.shape
    may = np.tri(rows, keys, dtype=bool) if last else np.ones((rows, keys), bool)
    match type(change):
        case changes.Forbid:
            new, reached = old * (np.arange(keys) != change.key), may[:, change.key]
        case changes.Focus:
            new, reached = np.tile(np.arange(keys) == change.key, (rows, 1)) * 1.0, may[:, change.key]
        case changes.Shift:
            new, reached = np.pad(old, ((0, 0), (1, 0)))[:, :-1] * may, may.sum(axis=1) > 1
        case changes.Uniform:
            new, reached = may * 1.0, np.ones(rows, bool)
        case _:
            weights = np.array(change.weights)
            new, reached = weights * may, (may * weights).sum(axis=1) > 0
    total = new.sum(axis=1, keepdims=True)
    return np.divide(new, total, out=np.zeros_like(new), where=total > 0), reached


def said_rows(text, change, rows, is_decoder):
    """The rows of which a sentence says that the change is made in them."""
    which = re.search(
        r"in every row(?: that (may attend to it|has another token|may attend to their tokens))?, log P ", text
    )
    first = {"may attend to it": getattr(change, "key", 0), "has another token": 1, None: 0}
    if which[1] == "may attend to their tokens":
        first[which[1]] = int(np.flatnonzero(change.weights)[0])
    return np.arange(rows) >= (first[which[1]] if is_decoder else 0)


@pytest.mark.parametrize("kind", ["decoder", "cross", "encoder"])
def test_every_row_is_said_only_of_rows_that_the_change_can_reach(kind):
    """In forty sentences and all heads: a decoder's row before a key cannot attend to it, and stays as it was."""
    stayed = 0
    for trace in traces()[:: 1 if kind == "decoder" else 5]:
        heads, old = HeadRef(kind), trace.attention(kind).astype(float)
        rows, keys = old.shape[2:]
        given = tuple(float(at >= keys // 2) for at in range(keys))
        at = min(2, keys - 1)
        asked = [Forbid.of(heads, key=at), Focus.of(heads, key=at), Shift.of(heads), changes.Uniform.of(heads)]
        for change in (*asked, changes.SetWeights.of(heads, weights=given)):
            target = translator().hypotheses(trace.source_text)[0]
            forced = translator().trace(trace.source_text, target=target, interventions=[change])
            text, new = told(describe_rewriting(change, trace, forced, forced)), forced.attention(kind).astype(float)
            said = said_rows(text, change, rows, kind == "decoder")
            for layer, head in np.ndindex(new.shape[:2]):
                expected, reached = rewritten(change, old[layer, head], kind == "decoder")
                assert reached.tolist() == said.tolist(), text
                np.testing.assert_array_equal(new[layer, head, ~said], old[layer, head, ~said])
                if layer == 0 or not isinstance(change, Forbid | Shift):  # later layers' own weights are others
                    np.testing.assert_allclose(new[layer, head, said], expected[said], atol=1e-5)
            stayed += int((~said).sum())
            assert f"all heads of the {kind_words(kind)}" in text
    assert bool(stayed) == (kind == "decoder")


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
