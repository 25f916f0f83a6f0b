"""Measures of a training against its replay's file, and against trainings of these tests."""

from collections import Counter

import numpy as np
import pytest
from safetensors.numpy import load_file
from support.lesson_runs import LANGUAGES, numbers_of, outcome_of, right_of, run_in, run_of
from support.server import until
from support.traces import CHECKPOINTS

from headlight.app.results import training_runs
from headlight.lessons.answer import Answer
from transformer.model.heads import Head
from transformer.toy.settings import Task, ToySettings
from transformer.untrusted import parse_json

ALL = pytest.mark.parametrize("checkpoint", (*LANGUAGES, "reverse"))


def stored(checkpoint: str) -> tuple[dict, list[dict]]:
    """Return the arrays of a replay's file, and its trajectories' texts."""
    arrays = load_file(CHECKPOINTS / checkpoint / "replay.safetensors")
    return arrays, parse_json(arrays["texts"].tobytes())["trajectories"]


def sharpest(arrays: dict, number: int, kind: str) -> tuple[tuple[int, int], np.ndarray]:
    """Return the head whose rows' largest weights changed most, and their mean at each snapshot."""
    maps = arrays[f"{number}/{kind}"].astype(np.float64)  # snapshots layers heads rows keys
    first_row = 1 if kind == "decoder" else 0  # the first row of the masked decoder has a single key
    maxima = maps.max(axis=-1)[..., first_row:].mean(axis=-1)
    change = np.abs(maxima[-1] - maxima[0])
    layer, head = np.unravel_index(change.argmax(), change.shape)
    return (int(layer), int(head)), maxima[:, layer, head]


def half_way(values: np.ndarray) -> int:
    middle, sign = (values[0] + values[-1]) / 2, np.sign(values[-1] - values[0])
    return next(at for at, value in enumerate(values) if sign * (value - middle) >= 0)


@ALL
def test_the_first_output_and_the_first_right_one_are_those_of_the_replay(checkpoint):
    arrays, trajectories = stored(checkpoint)
    for text in trajectories[:3]:
        run, steps = run_of(checkpoint, text["source_text"]), arrays["steps"]
        first, answer = outcome_of(run, "first_output"), outcome_of(run, "first_right")
        if isinstance(first, Answer) and right_of(first) == "repeats":
            ids = [piece.id for piece in run.translator.tokenizer.pieces(text["outputs"][0])]
            assert first.names["most"] == max(Counter(ids).values()) > 0.6 * len(ids)
            assert f"“{text['outputs'][0][:20]}" in first.truth
        right = [output.split() == text["target_text"].split() for output in text["outputs"]]
        assert isinstance(answer, Answer) == any(right)
        if any(right):
            assert right_of(answer) == str(steps[right.index(True)]) == str(answer.names["snapshot"])
            for at in (steps.tolist().index(int(option.name)) for option in answer.options):
                feedback = next(each.feedback for each in answer.options if each.name == str(steps[at]))
                assert text["outputs"][at][:20] in feedback or (right[at] and at > right.index(True))


@ALL
def test_halves_of_loss_and_sharpening_are_those_of_the_replay(checkpoint):
    arrays, trajectories = stored(checkpoint)
    steps = arrays["steps"]
    at_loss = half_way(np.interp(steps, *arrays["losses"].T))
    for number, text in enumerate(trajectories[:3]):
        run = run_of(checkpoint, text["source_text"])
        heads = {kind: sharpest(arrays, number, kind) for kind in ("encoder", "decoder", "cross")}
        half = {kind: half_way(values) for kind, (_, values) in heads.items()}
        answer, (head, values) = outcome_of(run, "loss_or_head", kind="cross"), heads["cross"]
        right = [output.split() == text["target_text"].split() for output in text["outputs"]]
        at = {"loss": at_loss, "head": half["cross"], "words": right.index(True) if any(right) else None}
        first, second = sorted(at, key=at.get)[:2] if any(right) else ("", "")
        assert isinstance(answer, Answer) == (any(right) and at[first] != at[second])
        if isinstance(answer, Answer):
            names = answer.names
            assert right_of(answer) == first and len(answer.options) == 3
            assert names["changed"] == Head("cross", *head)
            assert (names["snapshot"], names["at_loss"]) == (steps[half["cross"]], steps[at_loss])
            assert (names["spread"], names["sharp"]) == pytest.approx((values[0], values[-1]), abs=1e-3)
        answer, (first, second, _) = outcome_of(run, "first_sharp_kind"), sorted(half, key=half.get)
        assert isinstance(answer, Answer) == (half[first] != half[second])
        if isinstance(answer, Answer):
            assert right_of(answer) == first == answer.names["changed"].kind
            assert numbers_of(answer) == {kind: steps[at] for kind, at in half.items()}


def test_another_sentence_takes_the_first_of_the_replay_and_a_model_without_one_has_no_question(checkpoint_folder):
    answer = outcome_of(run_of("en-de", "Nobody knows why he left."), "loss_or_head", kind="cross")
    assert isinstance(answer, str) or answer.names["probe"] == stored("en-de")[1][0]["source_text"]
    for measure, arguments in (("first_output", {}), ("first_right", {}), ("loss_or_head", {"kind": "cross"})):
        run = run_in(checkpoint_folder, "red dog.")
        assert outcome_of(run, measure, **arguments) == "There is no replay of this model's training."


def longest_lines(maps: np.ndarray) -> dict[str, int]:
    """Return the most rows of one head whose largest weights lie on one line, by its direction."""
    rows = np.arange(maps.shape[-2])
    heads = maps.reshape(-1, *maps.shape[-2:]).argmax(axis=-1)
    lines = {"main": [head - rows for head in heads], "other": [head + rows for head in heads]}
    return {name: max(Counter(each.tolist()).most_common(1)[0][1] for each in many) for name, many in lines.items()}


def test_the_path_of_the_shipped_training_to_reverse_goes_against_the_main_diagonal():
    answer = outcome_of(run_of("en-de", "I love my teacher."), "path_through_map")
    best = longest_lines(stored("reverse")[0]["0/cross"][-1])
    assert right_of(answer) == "other" and best["other"] > 2 * best["main"]
    assert numbers_of(answer) == best and answer.names["task"] == "reverse"


def test_a_live_training_is_measured_itself():
    jobs = training_runs.jobs()
    (name,) = jobs.submit(ToySettings(task=Task.COPY, vocabulary=7, length=4, d_model=32, num_layers=1))
    until(lambda: not jobs.look(name).active)
    view, measures = jobs.look(name), ("learned_live", "path_through_map")
    learned, path = (outcome_of(run_of("en-de", "Yes.", job=name), each) for each in measures)
    assert learned.done == (view.status.end == "goal") and f"{view.status.update}" in learned.truth
    assert numbers_of(path) == longest_lines(view.replay.trajectories[0].cross[-1])
    assert path.names["task"] == "copy" and right_of(path) == "main"


def test_a_training_that_sorts_was_stopped_or_is_unknown_has_learned_nothing():
    jobs = training_runs.jobs()
    (name,) = jobs.submit(ToySettings(task=Task.SORT, max_updates=5000))
    until(lambda: jobs.look(name).replay)
    path = outcome_of(run_of("en-de", "Yes.", job=name), "path_through_map")
    assert path.names["task"] == "reverse", "sorting has no path"
    jobs.stop(name)
    for job in (name, "", "nobody-knows-it"):
        assert not outcome_of(run_of("en-de", "Yes.", job=job), "learned_live").done
