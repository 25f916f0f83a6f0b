"""Laws of the sentences on ablated heads: losses by full passes of the model with slices of W_O set to zero."""

import copy
import re

import numpy as np
import torch
from support.claims import as_printed, check_moved, check_sums, told
from support.made import made_trace
from support.traced import traces, translator

from headlight.views.what_if.ablation import describe_change, describe_ranking, head_words
from headlight.views.what_if.change_content import moved_words, share_words
from transformer.interpret.what_if.importance import every_head, head_importance
from transformer.interpret.what_if.intervention import Zero
from transformer.model.head_ref import HeadRef

HEADS = {
    HeadRef("encoder", 1, 4): "encoder self-attention layer 2, head 5",
    HeadRef("decoder", 2, 7): "masked decoder self-attention layer 3, head 8",
    HeadRef("cross", 2, 3): "cross-attention layer 3, head 4",
}
TEXTS = traces()[1:20:4]


def without(*heads: HeadRef):
    """The model with the columns of W_O that read these heads set to zero: another way to the same."""
    model = copy.deepcopy(translator().model)
    width = model.config.d_k
    for one in heads:
        block = (model.encoder if one.kind == "encoder" else model.decoder)[one.layer]
        attention = block.cross_attention if one.kind == "cross" else block.self_attention
        with torch.no_grad():
            attention.output.weight[:, one.head * width : (one.head + 1) * width] = 0
    return model


def padded(rows):
    pad = translator().model.config.pad_id
    return torch.tensor([[*row, *[pad] * (max(map(len, rows)) - len(row))] for row in rows])


@torch.no_grad()
def logits_of(model, *asked):
    """The logits of each translation: those of like length in one batch, for the longest would pad all others."""
    found: dict = {}
    order = sorted(asked, key=lambda one: len(one.target_ids))
    for part in (order[start : start + 10] for start in range(0, len(order), 10)):
        seen = model(*map(padded, ([one.source_ids for one in part], [one.decoder_input_ids for one in part])))
        found |= {id(one): logits[: len(one.target_ids)].double() for one, logits in zip(part, seen, strict=True)}
    return [found[id(one)] for one in asked]


def log_probabilities(model, *asked):
    found = zip(logits_of(model, *asked), asked, strict=True)
    return [logits.log_softmax(-1)[range(len(one.target_ids)), one.target_ids].numpy() for logits, one in found]


def test_what_is_said_without_each_head_is_what_the_model_loses_whose_output_projection_ignores_it():
    """Of all heads in forty sentences, with which of them greedy decoding leaves, and how many these are."""
    model, long = translator().model, traces()[-1]  # it would pad all others
    asked = [translator().trace("The dogs sleep.") if one is long else one for one in traces()]
    importances = [head_importance(model, one.source_ids, one.target_ids) for one in asked]
    whole = log_probabilities(model, *asked)
    totals, turned = np.zeros((2, len(asked), len(every_head(model))))
    for number_of, heads in enumerate(every_head(model)):
        logits = logits_of(without(heads), *asked)
        for row, (one, old, new, found) in enumerate(zip(asked, whole, logits, importances, strict=True)):
            losses = old - new.log_softmax(-1)[range(len(old)), one.target_ids].numpy()
            new[:, list(model.config.never_chosen)] = -torch.inf
            totals[row, number_of] = losses.sum()
            turned[row, number_of] = new.argmax(-1).tolist() != list(one.target_ids)
            words = head_words(found, one, heads)
            check_moved(words, losses, one.target_tokens)
            assert words.startswith(f"Without {HEADS.get(heads, '')}")
            assert ("finds another translation" in words) == turned[row, number_of]
    for one, losses, turns, found in zip(asked, totals, turned, importances, strict=True):
        words, worst = told(describe_ranking(found, one)), int(losses.argmax())
        assert words.startswith(f"This translation changes without {turns.sum():.0f} of {losses.size} heads, one at a ")
        least, count = re.search(r"Without (\d+) of the (\d+) it moves by less than 0.1 nats\.$", words).groups()
        assert abs(int(least) - (np.abs(losses) < 0.1).sum()) <= (np.abs(np.abs(losses) - 0.1) < 1e-4).sum()
        assert int(count) == losses.size
        moved = head_words(found, one, every_head(model)[worst]).removeprefix("Without ").removesuffix(".")
        assert moved.partition(" log P")[0] in words and moved.partition(" nats")[0].rpartition(" ")[2] in words
    assert 0 < turned.mean() < 1


def test_of_a_translation_that_greedy_decoding_does_not_give_no_head_is_said_to_change_it():
    given = translator().trace(TEXTS[0].source_text, target="Das ist gut.")
    words = told(describe_ranking(head_importance(translator().model, given.source_ids, given.target_ids), given))
    assert "changes" not in words and words.startswith("Without the head that matters most, log P falls by ")


def test_the_token_named_moved_most_the_way_of_the_whole_and_no_part_exceeds_it_alone():
    """Over random losses, of all sizes and of both signs, some of which cancel or do not show."""
    random = np.random.default_rng(6)
    tokens, still, alone = tuple("abcdefgh"), 0, 0
    for _ in range(3000):
        losses = random.normal(0, 10.0 ** random.uniform(-4, 1), random.integers(1, 9))
        if random.random() < 0.3:
            losses -= losses.mean()
        named = tokens[: len(losses)]
        words = f"log P {moved_words(losses)}{share_words(losses, made_trace(target_tokens=named))}."
        check_moved(words, losses, named)
        still += "stays" in words
        alone += "others" not in words
    assert still > 100 and alone > 100


def test_what_became_of_a_translation_is_said_with_the_sums_of_both_runs():
    same = set()
    ablated = {"interventions": list(map(Zero.of, HEADS))}
    other = next(one for one in traces() if translator().trace(one.source_text, **ablated).target_ids != one.target_ids)
    cases = [*zip(TEXTS, [[one] for one in HEADS] + [list(HEADS), [*HEADS, *HEADS]], strict=True), (other, list(HEADS))]
    for trace, heads in cases:
        asked = list(map(Zero.of, heads))
        after = translator().trace(trace.source_text, interventions=asked)
        target = translator().hypotheses(trace.source_text)[0]
        forced = translator().trace(trace.source_text, target=target, interventions=asked)
        words = told(describe_change(trace, forced, after, heads))
        changed = without(*heads)
        (old,), (new,) = (log_probabilities(model, trace) for model in (translator().model, changed))
        check_moved(words, old - new, trace.target_tokens)
        check_sums(words, old.sum(), new.sum())
        assert all(HEADS[one] in words for one in heads) and ("and 3 more" in words) == (len(heads) == 6)
        same.add(after.target_ids == trace.target_ids)
        assert ("translation stays the same" in words) == (after.target_ids == trace.target_ids)
        if after.target_ids != trace.target_ids:
            end = log_probabilities(changed, after)[0].sum()
            assert as_printed(re.search(r"new one has log P (\S+) under", words)[1], end)
    assert same == {True, False}
    still = told(describe_change(trace, trace, trace, heads))
    assert still.startswith("The translation stays the same, about as likely as before. ") and "it stays at −" in still
