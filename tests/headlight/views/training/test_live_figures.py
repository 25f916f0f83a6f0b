"""The figure and the sentences on toy trainings: what they show is what the numbers say."""

from dataclasses import replace

import numpy as np
import pytest
from headlight.views.training.live_text import (
    best_reader,
    comparison,
    hits,
    model_text,
    reading_story,
    state_text,
    task_text,
    time_left_text,
)

from headlight.views.training.compare_figure import runs_figure
from transformer.toy.jobs import JobView
from transformer.toy.settings import ToySettings, ToyStatus
from transformer.toy.tasks import Task
from transformer.toy.training import ToyTraining
from transformer.training.replay import ProbeTrajectory, TrainingReplay

SETTINGS = ToySettings()
UNDER_WAY = ToyStatus(update=500, loss=0.5, exact_match=0.5, measured=100, seconds=25.0, updates_a_second=20.0, end="")
LEARNED = ToyStatus(
    update=575, loss=0.01, exact_match=0.992, measured=500, seconds=18.4, updates_a_second=31.0, end="goal"
)
FAILED = replace(UNDER_WAY, update=2000, end="limit", exact_match=0.37, seconds=70.0)


def view(state: str, status: ToyStatus | None, place: int = 0) -> JobView:
    return JobView(SETTINGS, state, place, status, None)


def replay_of(cross: np.ndarray, steps: list[int], losses=((5, 2.0), (10, 0.5))) -> TrainingReplay:
    """A replay with these maps of cross-attention [snapshots, layers, heads, target, source] alone."""
    snapshots, layers, heads, target, source = cross.shape
    tokens = tuple("abcdefghij"[: source - 1])
    trajectory = ProbeTrajectory(
        source_text=" ".join(tokens),
        target_text=" ".join(tokens),
        source_tokens=(*tokens, "</s>"),
        fed_tokens=("<s>", *tokens),
        next_tokens=(*tokens, "</s>"),
        outputs=("",) * snapshots,
        encoder=np.zeros((snapshots, layers, heads, source, source)),
        decoder=np.zeros((snapshots, layers, heads, target, target)),
        cross=cross,
        probabilities=np.zeros((snapshots, target)),
    )
    scores = np.array([[0, 0.0], [10, 0.75]])
    return TrainingReplay(
        np.array(steps), (trajectory,), np.array(losses, dtype=float).reshape(-1, 2), scores, "exact match"
    )


def reading(*columns: int) -> np.ndarray:
    """A map [5, 5] whose rows read mostly these columns."""
    weights = np.full((5, 5), 0.1)
    weights[range(5), columns] = 0.6
    return weights


def test_task_and_model_are_told_in_texts():
    assert task_text(SETTINGS) == "reverse: write it backwards; sequences of 10 out of 11 letters, a to k"
    digits = replace(SETTINGS, task="sort", symbols="digits", vocabulary=10)
    assert task_text(digits).endswith("out of 10 digits, 0 to 9")
    words = model_text(SETTINGS)
    assert "2 + 2 layers of 8 heads, d_model 64, pre-norm" in words and words.endswith("; seed 1")
    assert "rising for 200 updates, then falling (Noam), at most 3.54·10⁻³" in words
    constant = model_text(replace(SETTINGS, schedule="none", label_smoothing=0.1))
    assert "constant from the first update, at most 3.54·10⁻³, label smoothing 0.1" in constant
    assert "rising" not in constant


@pytest.mark.parametrize(
    "state, status, place, words",
    [
        ("waiting", None, 3, "Place 3 in the line"),
        ("running", None, 0, "Starting: "),
        ("running", UNDER_WAY, 0, "Training, 20 updates a second: of 100 held-out sequences it writes 50 % entirely"),
        ("running", replace(UNDER_WAY, updates_a_second=0.44), 0, "Training, 0.4 updates a second"),
        (
            "done",
            LEARNED,
            0,
            "Learned after 575 updates, in 18 seconds: of 500 sequences that it was never trained on, "
            "it writes 99.2 % entirely right.",
        ),
        (
            "done",
            FAILED,
            0,
            "Not learned within 2,000 updates (70 seconds): of 100 held-out sequences it writes 37 % "
            "entirely right; 99 % was the goal.",
        ),
        ("stopped", None, 0, "Stopped before its first update."),
        ("stopped", replace(UNDER_WAY, update=1), 0, "Stopped after 1 update."),
        ("left", UNDER_WAY, 0, "Ended after 500 updates, because nobody was looking any more."),
        ("failed", None, 0, "The training broke off before its first update; please start it again."),
    ],
)
def test_where_a_run_stands_is_told_in_one_sentence(state, status, place, words):
    assert state_text(view(state, status, place)).startswith(words)


def test_the_time_left_is_that_to_the_limit():
    assert time_left_text(UNDER_WAY, SETTINGS) == "75 s"
    assert time_left_text(replace(UNDER_WAY, updates_a_second=0.0), SETTINGS) == "—"


def test_a_hit_is_a_largest_weight_on_the_symbol_that_is_to_be_written():
    chance, path = reading(4, 4, 4, 3, 0), reading(3, 2, 1, 0, 4)
    replay = replay_of(np.array([[[chance, chance]], [[chance, path]]]), [0, 40])
    wanted = Task.REVERSE.positions("abcd")
    assert hits(replay, wanted).tolist() == [[[0, 0]], [[0, 4]]]
    assert best_reader(replay, wanted) == (0, 1)
    assert reading_story(replay, wanted) == (
        "Layer 1, head 2 of the cross-attention has its largest weight on the symbol that is to be written in 4 of 4 "
        "steps at update 40. It was 0 of 4 before the first update, and 4 for the first time at update 40."
    )


def test_half_of_the_steps_are_not_most():
    half = reading(3, 2, 0, 1, 4)
    replay = replay_of(np.array([[[half]], [[half]]]), [0, 1500])
    assert reading_story(replay, Task.REVERSE.positions("abcd")) == (
        "No head of the cross-attention reads the right symbol in most steps at update 1,500: the best one, layer 1, "
        "head 1, has its largest weight on it in 2 of 4."
    )


def test_equal_heads_and_a_beginning_by_chance_are_told():
    path = reading(3, 2, 1, 0, 4)
    story = reading_story(replay_of(np.array([[[path, path, path]]]), [0]), Task.REVERSE.positions("abcd"))
    assert "in 4 of 4 steps at update 0 (2 other heads as often). That was so before the first update" in story


def test_equal_symbols_of_a_sorted_answer_may_be_read_in_any_order():
    sequence = "baca"  # a a b c: at places 1, 3, 0, 2
    for columns in ((1, 3, 0, 2, 4), (3, 1, 0, 2, 4), (3, 3, 0, 2, 4)):
        assert hits(replay_of(reading(*columns)[None, None, None], [0]), Task.SORT.positions(sequence)).item() == 4


def test_two_runs_are_compared_when_both_are_over():
    first, second = ("Noam", view("done", LEARNED)), ("constant", view("done", FAILED))
    assert comparison([first, second]).startswith(
        "With “Noam”, 99.2 % were right after 575 updates; with “constant”, 37 % were right after 2,000 updates, short "
        "of the goal. That is one seed"
    )
    assert comparison([first, ("constant", view("running", UNDER_WAY))]) == ""
    assert comparison([first, ("constant", view("failed", None))]) == ""


def test_both_courses_stand_in_one_figure():
    replays = [
        replay_of(np.zeros((1, 1, 1, 5, 5)), [0]),
        replay_of(np.zeros((1, 1, 1, 5, 5)), [0], [(5, 2.5), (10, 0.07)]),
    ]
    figure = runs_figure([("Noam", replays[0]), ("constant", replays[1])])
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
    axis = runs_figure([("Noam", replay_of(np.zeros((1, 1, 1, 5, 5)), [0], losses))]).layout.yaxis
    assert axis.ticktext == ticks and axis.range[0] < axis.range[1]


def test_the_first_snapshots_of_a_real_training_can_be_told():
    training = ToyTraining(ToySettings(vocabulary=5, length=6, d_model=16, num_layers=1, num_heads=2, max_updates=2))
    statuses = list(training.run())
    wanted = Task.REVERSE.positions(training.replay().trajectories[0].source_text.split())
    assert "of the cross-attention" in reading_story(training.replay(), wanted)
    assert state_text(view("done", statuses[-1])).startswith("Not learned within 2 updates")
    assert len(runs_figure([("one", training.replay())]).data) == 2
