"""Laws of the findings on a translation: its improbable token, and the largest weight between two words."""

import numpy as np
import pytest
from support.traces import made_map, made_trace

from headlight.views.home.content import least_probable_token, strongest_reading

NAMES = ("<pad>", "▁a", "<s>", "</s>", *(f"▁{letter}" for letter in "bcdefghij"))


def test_the_improbable_token_is_the_least_probable_and_the_other_the_best_that_was_not_chosen(random):
    for forced in (0, 1, 2) * 50:
        chances = random.dirichlet(np.ones(len(NAMES)), 3)
        ids, best = random.integers(3, len(NAMES), 3), np.argsort(-chances, axis=1)
        chosen = chances[range(3), ids]
        trace = made_trace(
            num_forced=forced,
            target_ids=tuple(ids.tolist()),
            target_probabilities=chosen,
            target_ranks=1 + (chances > chosen[:, None]).sum(axis=1),
            candidate_ids=best[:, :6],
            candidate_probabilities=np.take_along_axis(chances, best[:, :6], axis=1),
            candidate_tokens=tuple(tuple(NAMES[id] for id in row) for row in best[:, :6]),
        )
        finding = least_probable_token(trace)
        step = finding["token"].position
        assert step >= forced and chosen[step] == min(chosen[forced:]) == finding["chance"]
        never = {0, 2}  # padding, and the begin of sentence
        others = [id for id in best[step] if id != ids[step] and id not in never]
        assert finding["other"] == NAMES[others[0]] and finding["other_chance"] == chances[step, others[0]]
        rank = 1 + sum(chances[step, id] > chosen[step] for id in range(len(NAMES)))
        assert finding["rank"] == rank and ("runner_up" in finding) == (rank == 1)


def test_the_weight_named_is_the_largest_between_two_words():
    weights = [[0.1, 0.2, 0.1, 0.6, 0], [0, 0.3, 0, 0.1, 0.6], [0.9, 0, 0, 0, 0.1]]
    finding = strongest_reading(made_map(weights, row_label="predicted"))
    numbers = finding["row"].position, finding["key"].position, finding["weight"]
    assert numbers == pytest.approx((1, 1, 0.3)) and finding["head"] == "layer 2, head 1"
    assert strongest_reading(made_map([[0, 0, 0, 0.5, 0.5]] * 3, keys=["</s>"] * 5)) is None
