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
from transformer.toy.settings import Task, ToySettings
from transformer.untrusted import parse_json

ALL = pytest.mark.parametrize("checkpoint", (*LANGUAGES, "reverse"))
FIRST_END = {"en-de": 6000, "en-fr": 5000, "reverse": 4000}  # of the first of several trainings, as training.json says


def stored(checkpoint: str) -> tuple[dict, list[dict]]:
    """Return the arrays of a replay's file, and its trajectories' texts."""
    arrays = load_file(CHECKPOINTS / checkpoint / "replay.safetensors")
    return arrays, parse_json(arrays["texts"].tobytes())["trajectories"]


def sharpest(arrays: dict, number: int, kind: str, last: int) -> tuple[tuple[int, int], np.ndarray]:
    """Return the head whose rows' largest weights changed most, and their mean at each snapshot up to the last."""
    maps = arrays[f"{number}/{kind}"].astype(np.float64)  # snapshots layers heads rows keys
    first_row = 1 if kind == "decoder" else 0  # the first row of the masked decoder has a single key
    maxima = maps.max(axis=-1)[..., first_row:].mean(axis=-1)
    change = np.abs(maxima[-1] - maxima[0])
    layer, head = np.unravel_index(change.argmax(), change.shape)
    return (int(layer), int(head)), maxima[: last + 1, layer, head]


def half_way(values: np.ndarray) -> int:
    middle, sign = (values[0] + values[-1]) / 2, np.sign(values[-1] - values[0])
    return next(at for at, value in enumerate(values) if sign * (value - middle) >= 0)


@ALL
def test_the_first_output_and_the_first_right_one_are_those_of_the_replay(checkpoint):
    arrays, trajectories = stored(checkpoint)
    decided = 0
    for text in trajectories[:3]:
        run, steps = run_of(checkpoint, text["source_text"]), arrays["steps"]
        first = outcome_of(run, "first_output")
        symbols = text["outputs"][0].split() if " " in text["outputs"][0] else list(text["outputs"][0])
        assert right_of(first) == "repeats" and max(Counter(symbols).values()) > 0.6 * len(symbols)
        assert first.names["most"] >= 0.6 * first.names["tokens"] and f"“{text['outputs'][0][:20]}" in first.truth
        assert (first.names["probe"], first.names["target"]) == (text["source_text"], text["target_text"])
        answer = outcome_of(run, "first_right")
        right = [output.split() == text["target_text"].split() for output in text["outputs"]]
        assert isinstance(answer, Answer) == any(right)
        if not any(right):
            continue
        decided += 1
        step = steps[right.index(True)]
        assert right_of(answer) == str(step) == str(answer.names["snapshot"]) and len(answer.options) >= 3
        for option in answer.options:
            at = steps.tolist().index(int(option.name))
            assert text["outputs"][at].split()[0][:20] in option.feedback or (right[at] and at > right.index(True))
    assert decided >= 2


@ALL
def test_halves_of_loss_and_sharpening_are_those_of_the_replay(checkpoint):
    arrays, trajectories = stored(checkpoint)
    steps = arrays["steps"]
    last = max(at for at, step in enumerate(steps) if step <= FIRST_END[checkpoint])
    kinds, at_loss = 0, half_way(np.interp(steps, *arrays["losses"].T)[: last + 1])
    for number, text in enumerate(trajectories[:3]):
        run = run_of(checkpoint, text["source_text"])
        heads = {kind: sharpest(arrays, number, kind, last) for kind in ("encoder", "decoder", "cross")}
        half = {kind: half_way(values) for kind, (_, values) in heads.items()}
        answer, (head, values) = outcome_of(run, "loss_or_head", kind="cross"), heads["cross"]
        assert isinstance(answer, Answer) == (half["cross"] != at_loss)
        if isinstance(answer, Answer):
            names = answer.names
            assert right_of(answer) == ("loss" if at_loss < half["cross"] else "head")
            assert (names["layer"], names["head"]) == head and names["kind"] == "cross"
            assert (names["snapshot"], names["at_loss"]) == (steps[half["cross"]], steps[at_loss])
            assert (names["spread"], names["sharp"]) == pytest.approx((values[0], values[-1]), abs=1e-3)
        answer, (first, second, _) = outcome_of(run, "first_sharp_kind"), sorted(half, key=half.get)
        assert isinstance(answer, Answer) == (half[first] != half[second])
        if isinstance(answer, Answer):
            kinds += 1
            assert right_of(answer) == first == answer.names["kind"]
            assert (answer.names["layer"], answer.names["head"]) == heads[first][0]
            assert numbers_of(answer) == {kind: steps[at] for kind, at in half.items()}
    assert kinds >= 2


def test_another_sentence_takes_the_first_of_the_replay_and_a_model_without_one_has_no_question(checkpoint_folder):
    assert (
        outcome_of(run_of("en-de", "Nobody knows why he left."), "first_right").names["probe"] == "I love my teacher."
    )
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
    assert numbers_of(answer) == best and answer.texts == {"task": "reverse"}


def test_a_job_that_is_unknown_has_learned_nothing():
    for job in ("", "nobody-knows-it"):
        assert not outcome_of(run_of("en-de", "Yes.", job=job), "learned_live").done


def test_a_live_training_is_measured_itself():
    jobs = training_runs.jobs()
    (name,) = jobs.submit(ToySettings(task=Task.COPY, vocabulary=8, length=6, d_model=32, num_heads=4))
    until(lambda: not jobs.look(name).active)
    view = jobs.look(name)
    learned, path = (
        outcome_of(run_of("en-de", "Yes.", job=name), each) for each in ("learned_live", "path_through_map")
    )
    assert learned.done == (view.status.end == "goal") and f"{view.status.update}" in learned.truth
    assert numbers_of(path) == longest_lines(view.replay.trajectories[0].cross[-1])
    assert path.texts == {"task": "copy"} and right_of(path) == "main"
    (name,) = jobs.submit(ToySettings(task=Task.SORT, max_updates=20))
    until(lambda: not jobs.look(name).active)
    path = outcome_of(run_of("en-de", "Yes.", job=name), "path_through_map")
    assert path.texts == {"task": "reverse"}, "sorting has no path"


def test_a_training_that_was_stopped_has_not_learned():
    jobs = training_runs.jobs()
    (name,) = jobs.submit(ToySettings(max_updates=5000))
    assert not outcome_of(run_of("en-de", "Yes.", job=name), "learned_live").done
    jobs.stop(name)
    assert not outcome_of(run_of("en-de", "Yes.", job=name), "learned_live").done
