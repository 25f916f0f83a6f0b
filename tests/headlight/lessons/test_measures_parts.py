"""Questions of the lesson on scores against the parts, the runs and the weights themselves."""

import numpy as np
import pytest
from support.lesson_runs import LANGUAGES, decided

from transformer.interpret.head_patterns import is_punctuation
from transformer.interpret.score_parts import explain_score
from transformer.interpret.what_if.intervention import Zero
from transformer.model.head_ref import HeadRef
from transformer.model.names import AttentionKind

BOTH = pytest.mark.parametrize("checkpoint", LANGUAGES)


def explained(run, names):
    """Return the parts of the lead of the cell that an answer names."""
    head = HeadRef.parse(names["cell_head"])
    query, key, against = (int(names[name]) - 1 for name in ("row", "key", "against"))
    cell = head.kind, head.layer, head.head, query, key
    return explain_score(run.translator, run.trace, *cell, against=against)


@BOTH
@pytest.mark.parametrize("side", ["query", "key"])
def test_the_part_that_carries_the_lead_has_the_largest_sum_of_products(checkpoint, side):
    answers = decided(checkpoint, "part_of_lead", side=side)
    assert answers
    for run, answer in answers:
        frame = explained(run, answer.names).to_frame()
        frame = frame[~frame[f"{side}_kind"].isin(["biases", "relative position"])]
        sums = frame.groupby([f"{side}_kind", f"{side}_layer"], dropna=False)["value"].sum()
        best, second = sums.nlargest(2)
        (right,) = (option for option in answer.options if option.name in answer.right)
        assert f"{best:.2f}".replace("-", "−") in right.told and best - second >= 0.2
        trace, (_, layer, head) = run.trace, answer.names["cell_head"].split(".")
        row = trace.cross[int(layer) - 1, int(head) - 1, int(answer.names["row"]) - 1]
        order = np.argsort(-row)
        assert [str(place + 1) for place in order[:2]] == [answer.names["key"], answer.names["against"]]


@BOTH
def test_the_row_without_the_part_is_that_of_a_run_without_the_head(checkpoint):
    answers = decided(checkpoint, "row_without_part")
    for run, answer in answers:
        removed, head = (HeadRef.parse(answer.names[name]) for name in ("removed", "cell_head"))
        target = run.trace.target_ids
        under = run.translator.trace(run.trace.source_text, target=target, interventions=[Zero.of(removed)])
        query, key = (int(answer.names[name]) - 1 for name in ("row", "key"))
        before, after = (each.cross[head.layer, head.head, query] for each in (run.trace, under))
        outcome = "kept" if after[key] >= 0.75 * before[key] else "less"
        assert answer.right == {outcome if after.argmax() == key else "other"}


@BOTH
def test_the_run_is_set_beside_what_the_parts_predict(checkpoint):
    for run, answer in decided(checkpoint, "predicted_or_run"):
        parts, removed = explained(run, answer.names), HeadRef.parse(answer.names["removed"])
        part = next(each for each in (*parts.query_parts, *parts.key_parts) if each.head_ref == removed)
        predicted, run_score = (float(text.replace("−", "-")) for text in _numbers(answer.truth))
        assert predicted == pytest.approx(parts.without(part), abs=0.006)
        gap = run_score - predicted
        assert abs(gap) > 0.03 or answer.right == {"alike"}
        assert abs(gap) < 0.07 or answer.right == {"higher" if gap > 0 else "lower"}


def _numbers(text):
    return [word.strip(",.") for word in text.split() if word.strip(",.−")[:1].isdigit()]


@BOTH
def test_what_rests_is_the_weight_on_end_and_punctuation(checkpoint):
    for run, answer in decided(checkpoint, "resting_share"):
        tokens, cross = run.trace.source_tokens, run.trace.cross.astype(float)
        rests = [token == "</s>" or is_punctuation(token) for token in tokens]
        assert answer.value == pytest.approx(100 * cross[..., rests].sum(-1).mean(), abs=1e-3)


@BOTH
def test_the_head_that_rests_most_gives_most_to_the_end(checkpoint):
    answers = decided(checkpoint, "resting_head")
    assert answers
    for run, answer in answers:
        shares = run.trace.cross[..., -1].mean(axis=-1)
        head = HeadRef(AttentionKind.CROSS, *map(int, np.unravel_index(shares.argmax(), shares.shape)))
        assert answer.right == {head.address} and answer.names["resting"] == head.address
        others = [HeadRef.parse(option.name) for option in answer.options if option.name != head.address]
        assert all(shares.max() - shares[other.layer, other.head] > 0.099 for other in others)
