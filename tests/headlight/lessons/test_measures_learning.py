"""What lessons ask about a training, against its replay's file, its schedule's formula, and trainings of one's own."""

import re
from collections import Counter

import numpy as np
import pytest
from safetensors.numpy import load_file
from support.lesson_runs import LANGUAGES, measured, run_in, run_of
from support.server import until
from support.traces import CHECKPOINTS

from headlight.app.results import training_runs
from headlight.lessons.answer import Answer
from headlight.lessons.register import answer_of
from transformer.toy.settings import Task, ToySettings
from transformer.untrusted import parse_json

ALL = (*LANGUAGES, "reverse")
FIRST_END = {"en-de": 6000, "en-fr": 5000, "reverse": 4000}  # of the first of several trainings, as training.json says
REPLAYED = ("first_output", "first_right", "first_sharp_kind")  # measures without arguments that read a replay


def stored(checkpoint: str, number: int = 0) -> tuple[dict, dict]:
    """The arrays of a replay's file, and what is written of one of its trajectories."""
    arrays = load_file(CHECKPOINTS / checkpoint / "replay.safetensors")
    header = parse_json(arrays["texts"].tobytes())
    return arrays, header["trajectories"][number]


def probes(checkpoint: str) -> list[tuple[int, str]]:
    """The number of each trajectory, with its sentence."""
    return [(number, stored(checkpoint, number)[1]["source_text"]) for number in range(3)]


def sharpest(arrays: dict, number: int, kind: str, last: int) -> tuple[tuple[int, int], np.ndarray]:
    """The head whose rows' largest weights changed most, and their mean at each snapshot up to the last."""
    maps = arrays[f"{number}/{kind}"].astype(np.float64)  # snapshots layers heads rows keys
    first_row = 1 if kind == "decoder" else 0  # the first row of the masked decoder has a single key
    maxima = maps.max(axis=-1)[..., first_row:].mean(axis=-1)
    change = np.abs(maxima[-1] - maxima[0])
    layer, head = np.unravel_index(change.argmax(), change.shape)
    return (int(layer), int(head)), maxima[: last + 1, layer, head]


def half_way(values: np.ndarray) -> int:
    middle = (values[0] + values[-1]) / 2
    return next(
        at for at, value in enumerate(values) if (value >= middle if values[-1] > values[0] else value <= middle)
    )


def end_of(arrays: dict, checkpoint: str) -> int:
    return max(at for at, step in enumerate(arrays["steps"]) if step <= FIRST_END[checkpoint])


@pytest.mark.parametrize("checkpoint", ALL)
def test_what_it_writes_first_is_what_the_replay_has(checkpoint):
    for number, text in probes(checkpoint):
        answer = answer_of(run_of(checkpoint, text), "first_output", {})
        _, told = stored(checkpoint, number)
        written = told["outputs"][0]
        symbols = written.split() if " " in written else list(written)
        share = max(Counter(symbols).values()) / len(symbols)
        assert answer.right == {"repeats"} and share > 0.6
        assert answer.names["probe"] == text and answer.names["target"] == told["target_text"]
        assert answer.truth.startswith(f"Before the first update it writes: “{written[:20]}")


@pytest.mark.parametrize("checkpoint", ALL)
def test_it_is_right_for_the_first_time_where_no_snapshot_before_is(checkpoint):
    decided = 0
    for number, text in probes(checkpoint):
        answer = measured(run_of(checkpoint, text), "first_right")
        arrays, told = stored(checkpoint, number)
        right = [output.split() == told["target_text"].split() for output in told["outputs"]]
        if not any(right):
            assert isinstance(answer, str) and answer.endswith(".")
            continue
        assert isinstance(answer, Answer)
        decided += 1
        step = arrays["steps"][right.index(True)]
        assert answer.right == {str(step)} == {answer.names["snapshot"]} and f"update {step:,} of" in answer.truth
        assert len(answer.options) >= 3
        for option in answer.options:
            at = arrays["steps"].tolist().index(int(option.name))
            assert option.label == f"update {int(option.name):,}"
            assert told["outputs"][at].split()[0][:20] in option.told or (right[at] and at > right.index(True))
    assert decided >= 2


@pytest.mark.parametrize("checkpoint", ALL)
def test_of_loss_and_head_that_one_is_first_which_is_past_half_before(checkpoint):
    for number, text in probes(checkpoint):
        arrays, _ = stored(checkpoint, number)
        last = end_of(arrays, checkpoint)
        (layer, head), values = sharpest(arrays, number, "cross", last)
        losses = np.interp(arrays["steps"], *arrays["losses"].T)[: last + 1]
        at_head, at_loss = half_way(values), half_way(losses)
        answer = measured(run_of(checkpoint, text), "loss_or_head", kind="cross")
        if at_head == at_loss:
            assert isinstance(answer, str)
            continue
        assert isinstance(answer, Answer) and answer.right == {"loss" if at_loss < at_head else "head"}
        steps = arrays["steps"]
        assert f"{steps[at_loss]:,}, the head half of its sharpening at update {steps[at_head]:,}." in answer.truth
        shown = {"kind": "cross", "layer": str(layer + 1), "head": str(head + 1), "snapshot": str(steps[at_head])}
        assert shown.items() <= answer.names.items()
        for name, value in (("spread", values[0]), ("sharp", values[-1])):
            told = re.fullmatch(r"(?:over |under )?(\d+) %", answer.names[name])
            assert told and int(told[1]) == pytest.approx(100 * value, abs=1.05)


@pytest.mark.parametrize("checkpoint", ALL)
def test_the_first_sharp_kind_is_past_half_before_both_others(checkpoint):
    decided = 0
    for number, text in probes(checkpoint):
        arrays, _ = stored(checkpoint, number)
        last = end_of(arrays, checkpoint)
        heads = {kind: sharpest(arrays, number, kind, last) for kind in ("encoder", "decoder", "cross")}
        half = {kind: half_way(values) for kind, (_, values) in heads.items()}
        first, second, _ = sorted(half, key=lambda kind: half[kind])
        answer = measured(run_of(checkpoint, text), "first_sharp_kind")
        if half[first] == half[second]:
            assert isinstance(answer, str)
            continue
        decided += 1
        assert isinstance(answer, Answer) and answer.right == {first} == {answer.names["kind"]}
        assert (int(answer.names["layer"]) - 1, int(answer.names["head"]) - 1) == heads[first][0]
        for option in answer.options:
            assert option.told.endswith(f"update {arrays['steps'][half[option.name]]:,}.")
    assert decided >= 2


def test_another_sentence_is_asked_about_by_the_first_of_the_replay():
    answer = answer_of(run_of("en-de", "Nobody knows why he left."), "first_right", {})
    assert answer.names["probe"] == "I love my teacher."


def test_a_model_without_a_replay_has_none_to_ask_about(checkpoint_folder):
    run = run_in(checkpoint_folder, "red dog.")
    for measure in REPLAYED:
        assert measured(run, measure) == "There is no replay of this model's training."
    assert measured(run, "loss_or_head", kind="cross") == "There is no replay of this model's training."


def test_the_path_of_the_shipped_training_to_reverse_goes_against_the_main_diagonal():
    answer = answer_of(run_of("en-de", "I love my teacher."), "path_through_map", {})
    cross = stored("reverse")[0]["0/cross"][-1]
    layers, heads, rows, _ = cross.shape
    largest = cross.reshape(layers * heads, rows, -1).argmax(axis=-1)
    best = {"main": 0, "other": 0}
    for head in largest:
        for line in range(-rows, 2 * rows):
            best["main"] = max(best["main"], sum(column - row == line for row, column in enumerate(head)))
            best["other"] = max(best["other"], sum(column + row == line for row, column in enumerate(head)))
    assert answer.right == {"other"} and best["other"] > 2 * best["main"]
    for name, most in best.items():
        assert f"At most {most} of {rows} rows" in next(each.told for each in answer.options if each.name == name)
    assert answer.names == {"task": "reverse"}


def test_a_job_that_is_unknown_has_learned_nothing():
    for job in ("", "nobody-knows-it"):
        answer = answer_of(run_of("en-de", "Yes.", job=job), "learned_live", {})
        assert not answer.done and answer.truth == "No training has been started here yet."


@pytest.fixture(scope="module")
def copied() -> str:
    """The name of a training that learned to copy."""
    (name,) = training_runs.jobs().submit(ToySettings(task=Task.COPY, vocabulary=8, length=6, d_model=32, num_heads=4))
    until(lambda: not training_runs.jobs().look(name).active)
    return name


def test_a_live_training_is_asked_about_itself(copied):
    view = training_runs.jobs().look(copied)
    learned = answer_of(run_of("en-de", "Yes.", job=copied), "learned_live", {})
    assert learned.done == (view.status.end == "goal")
    assert f"{view.status.update}" in learned.truth and "entirely right" in learned.truth
    path = answer_of(run_of("en-de", "Yes.", job=copied), "path_through_map", {})
    largest = view.replay.trajectories[0].cross[-1].argmax(axis=-1).reshape(-1, 7)
    counts = [Counter((head - np.arange(7)).tolist()).most_common(1)[0][1] for head in largest]
    assert path.names == {"task": "copy"} and path.right == {"main"} and max(counts) >= 4
    assert f"{max(counts)} of 7 rows" in path.truth


def test_a_training_that_was_stopped_has_not_learned():
    jobs = training_runs.jobs()
    (name,) = jobs.submit(ToySettings(max_updates=5000))
    assert not answer_of(run_of("en-de", "Yes.", job=name), "learned_live", {}).done
    jobs.stop(name)
    stopped = answer_of(run_of("en-de", "Yes.", job=name), "learned_live", {})
    assert not stopped.done and stopped.truth.startswith("Stopped")
