"""A token's trajectory, and its neighbours."""

import numpy as np
import pytest
import torch
from support.models import random_sources, small_model
from support.tolerance import near
from torch.nn import functional as F

from transformer.interpret.parameters import nearest
from transformer.interpret.residual import record_residual_stream, trajectory

SOURCE, FED = random_sources(7)[0], [2, 9, 8, 5, 4]


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_trajectory_goes_through_every_sublayer(norm):
    stack = record_residual_stream(small_model(3, norm=norm), SOURCE, FED).decoder
    found = trajectory(stack, 2)
    end = [("norm", None)] if norm == "pre" else []
    attention = [(name, layer) for layer in range(3) for name in ("self_attention", "cross_attention", "feed_forward")]
    assert list(found.points) == [("embedding", None), ("positions", None), *attention, *end]
    assert found.norms[1] == pytest.approx(float(np.linalg.norm(stack.start[2])), rel=1e-6)
    assert found.norms[-1] == pytest.approx(float(np.linalg.norm(stack.end[2])), rel=1e-6)
    assert np.isnan(found.changes[0]) and found.changes[2] == pytest.approx(
        float(np.linalg.norm(stack.sublayers[0].change[2])), rel=1e-6
    )
    assert found.similarities[0] == pytest.approx(1) and found.turns[0] == pytest.approx(1)
    last = F.cosine_similarity(torch.tensor(stack.end[2]), torch.tensor(stack.embedded[2]), dim=0)
    assert found.similarities[-1] == near(float(last))


def test_a_token_that_is_not_there_is_refused():
    stack = record_residual_stream(small_model(3), SOURCE, FED).decoder
    for token in (-1, len(FED)):
        with pytest.raises(ValueError, match="token"):
            trajectory(stack, token)


def test_the_nearest_are_those_of_the_largest_cosine():
    matrix = np.array([[1.0, 0.0], [2.0, 0.1], [0.0, 3.0], [-1.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    found = nearest(matrix, 0, 3)
    assert [id for id, _ in found] == [1, 5, 2]
    assert found[0][1] == pytest.approx(2 / np.hypot(2, 0.1)) and found[1][1] == pytest.approx(2**-0.5)
    assert nearest(matrix, 4, 1)[0][1] == 0
    with pytest.raises(ValueError):
        nearest(matrix, 6)
