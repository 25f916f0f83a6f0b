"""The figure of two runs: both courses in one, told apart without colours."""

import numpy as np
import pytest

import headlight.plots as plots
from transformer.training.replay import TrainingReplay


def replay_of(losses: list[tuple[int, float]]) -> TrainingReplay:
    scores = np.array([[0, 0.0], [10, 0.75]])
    return TrainingReplay(np.array([0]), (), np.array(losses, dtype=float).reshape(-1, 2), scores, "exact match")


def test_both_courses_stand_in_one_figure():
    replays = [replay_of([(5, 2.0), (10, 0.5)]), replay_of([(5, 2.5), (10, 0.07)])]
    figure = plots.training_runs([("Noam", replays[0]), ("constant", replays[1])])
    assert [(line.name, line.yaxis, line.showlegend) for line in figure.data] == [
        ("Noam", "y", True),
        ("Noam", "y2", False),
        ("constant", "y", True),
        ("constant", "y2", False),
    ]
    assert figure.data[2].x.tolist() == [5, 10] and figure.data[2].y.tolist() == [2.5, 0.07]
    assert figure.data[1].y.tolist() == [0, 0.75]
    assert len({line.line.dash for line in figure.data}) == 2, "told apart without colours"
    axis = figure.layout.yaxis
    assert axis.type == "log" and axis.ticktext == ("0.05", "0.1", "0.2", "0.5", "1", "2", "5")
    assert [float(text) for text in axis.ticktext] == list(axis.tickvals)
    assert 10 ** axis.range[0] < 0.07 and 10 ** axis.range[1] > 2.5


@pytest.mark.parametrize(
    "losses, ticks", [([], ("1", "2", "5")), ([(5, 2.0)], ("2",)), ([(5, 2.1), (10, 2.6)], ("2", "5"))]
)
def test_a_loss_that_hardly_moves_still_has_its_axis(losses, ticks):
    axis = plots.training_runs([("Noam", replay_of(losses))]).layout.yaxis
    assert axis.ticktext == ticks and axis.range[0] < axis.range[1]
