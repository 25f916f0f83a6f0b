"""Laws of the captions of training replays: what changed in which head, and when the model wrote the target."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from support.head_rows import COUNTED, Head, thresholds
from support.streams import CHECKPOINTS, KINDS

from headlight.views.training import replay_text as captions
from transformer.training.replay import REPLAY_FILE, load_replay

NAMES = ("en-de", "en-fr", "reverse")


@cache
def _replay(name: str):
    return load_replay(CHECKPOINTS / name / REPLAY_FILE)


@cache
def _values(name: str, number: int, kind: str) -> tuple[np.ndarray, float]:
    """The largest weight of a row, on average, [snapshots, layers, heads], and of a row that is spread evenly."""
    maps = getattr(_replay(name).trajectories[number], kind).astype(np.float64)
    widths = [row + 1 if kind == "decoder" else maps.shape[-1] for row in range(maps.shape[-2])]
    rows = [row for row, width in enumerate(widths) if width > 1]
    largest = [maps[..., row, : widths[row]].max(axis=-1) for row in rows]
    return np.mean(largest, axis=0), float(np.mean([1 / widths[row] for row in rows]))


def _is_weight(text: str, value: float) -> bool:
    return value >= 0.995 - 1e-6 if text == "1" else abs(float(text) - value) <= 0.005 + 1e-6


def _cases():
    return [(name, at, kind) for name in NAMES for at in range(len(_replay(name).trajectories)) for kind in KINDS]


def _focus(name: str, number: int, kind: str):
    return captions.focus_of(_replay(name), _replay(name).trajectories[number], kind)


_STORY = re.compile(
    r"Layer (\d+), head (\d+): a row's largest weight is (\.\d\d|1) on average at step ([\d,]+) \(spread evenly it "
    r"would be (\.\d\d|1)\) and (\.\d\d|1) at step ([\d,]+)\. "
)
_JUMP = re.compile(
    r"Of all neighbouring snapshots it changes most between step ([\d,]+) and step ([\d,]+): from (\.\d\d|1) to "
    r"(\.\d\d|1)\.$"
)


@pytest.mark.parametrize("case", _cases())
def test_how_a_head_changed_over_the_training(case):
    focus, (values, uniform), steps = _focus(*case), _values(*case), [f"{step:,}" for step in _replay(case[0]).steps]
    for layer, head in np.ndindex(values.shape[1:]):
        said, own = captions.head_story(focus, layer, head), values[:, layer, head]
        number, at, first, begin, even, last, end = _STORY.match(said).groups()
        assert (int(number), int(at), begin, end) == (layer + 1, head + 1, steps[0], steps[-1])
        assert _is_weight(first, own[0]) and _is_weight(last, own[-1]) and _is_weight(even, uniform)
        changes = [abs(after - before) for before, after in zip(own[:-1], own[1:], strict=True)]
        jump = _JUMP.search(said)
        if not jump:
            assert "Between no two neighbouring" in said and max(changes) < 0.01
            continue
        place = steps.index(jump[1])
        assert steps[place + 1] == jump[2] and changes[place] >= max(changes) - 1e-6 and jump[3] != jump[4]
        assert _is_weight(jump[3], own[place]) and _is_weight(jump[4], own[place + 1])


@pytest.mark.parametrize("case", _cases())
def test_which_head_changed_most_and_by_when_half_of_a_layer_had(case):
    focus, (values, _), steps = _focus(*case), _values(*case), _replay(case[0]).steps.tolist()
    said, difference = captions.heads_story(focus), np.abs(values[-1] - values[0])
    count, layer, head, first, last = re.match(
        r"Of all (\d+) heads of this kind, layer (\d+), head (\d+) differs most between the first snapshot and the last"
        r": (\.\d\d|1) and (\.\d\d|1)\. ",
        said,
    ).groups()
    place = int(layer) - 1, int(head) - 1
    assert int(count) == difference.size and difference[place] >= difference.max() - 1e-6
    assert _is_weight(first, values[(0, *place)]) and _is_weight(last, values[(-1, *place)])
    told = re.findall(r"step ([\d,]+) in layer (\d+)", said)
    assert [int(number) for _, number in told] == list(range(1, values.shape[1] + 1))
    for step, number in told:
        jumps = []
        for own in values[:, int(number) - 1].T:
            changes = [abs(after - before) for before, after in zip(own[:-1], own[1:], strict=True)]
            jumps.append(steps[1 + changes.index(max(changes))])
        by = int(step.replace(",", ""))
        assert sum(jump <= by for jump in jumps) * 2 >= len(jumps) > sum(jump < by for jump in jumps) * 2


@pytest.mark.parametrize("case", _cases())
def test_what_a_head_does_at_a_snapshot(case):
    name, number, kind = case
    trajectory, (values, uniform), labels = _replay(name).trajectories[number], _values(*case), thresholds()
    keys = trajectory.fed_tokens if kind == "decoder" else trajectory.source_tokens
    maps, labelled = captions.attention_maps(trajectory, kind), 0
    for snapshot in range(0, len(maps), 6):
        for layer, head in np.ndindex(maps.shape[1:3]):
            weights, own = maps[snapshot, layer, head], values[snapshot, layer, head]
            said = captions.head_text(weights, kind, keys, float(own), uniform)
            sharp, even = re.match(
                r"A row's largest weight is (.+) on average \(spread evenly: (.+)\)\.", said
            ).groups()
            assert _is_weight(sharp, own) and _is_weight(even, uniform)
            hand, text = Head(kind, np.nan_to_num(weights), keys, None), said.replace(" In ", " in ")
            reached = (
                words
                for words, least, rows in labels.values()
                for follow, could in [hand.count(words)]
                if could >= rows and follow / could >= least and not hand.tied()
            )
            words, counted = next(reached, None), COUNTED.search(text)
            assert bool(counted) == (words is not None), said
            if counted:
                assert text[counted.end() :] == f"{words}."
                assert tuple(int(counted[place].replace(",", "")) for place in (1, 2)) == hand.count(words)
                labelled += 1
    assert labelled or kind != "encoder" or name != "reverse", "heads of translators are less plain"


def test_when_the_model_wrote_the_target():
    seen = set()
    for name in NAMES:
        replay = _replay(name)
        for trajectory in replay.trajectories:
            target = trajectory.target_text
            histories = [trajectory.outputs, (target, *trajectory.outputs[1:]), (*trajectory.outputs[:-1], "wrong")]
            histories += [(target,) * len(replay.steps), ("",) * len(replay.steps), (*("x",) * 5, target, "x", target)]
            histories.append((*("x",) * (len(replay.steps) - 1), target))
            for outputs in histories:
                seen.add(_check_output(replay, replace(trajectory, outputs=tuple(outputs))))
    assert seen == {"never", "last", "lost", "kept", "wavers"}


def _check_output(replay, trajectory) -> str:
    """Checks one story; the kind of history that it tells."""
    steps = [f"{step:,}" for step in replay.steps[: len(trajectory.outputs)]]
    replay = replace(replay, steps=replay.steps[: len(steps)])
    said = captions.output_story(replay, trajectory)
    right = [output.split() == trajectory.target_text.split() for output in trajectory.outputs]
    if said.startswith("At none of these snapshots"):
        written = trajectory.outputs[-1].split()
        assert not any(right) and f"; at step {steps[-1]} it writes “" in said
        shown = re.search(r"it writes “(.*)”(?: … and ([\d,]+) more words?)?\.$", said)
        words = shown[1].split()
        assert not written or words == written[: len(words)] and int(shown[2] or 0) == len(written) - len(words)
        return "never"
    if said.endswith("and at none before."):
        assert right[-1] and not any(right[:-1]) and f"the last snapshot, step {steps[-1]}," in said
        return "last"
    first = steps.index(re.search(r"for the first time at step ([\d,]+),", said)[1])
    assert right[first] and not any(right[:first])
    if "no longer at the last" in said:
        assert not right[-1] and said.endswith(f"step {steps[-1]}.")
        return "lost"
    if said.endswith("every snapshot kept from then on."):
        assert all(right[first:])
        return "kept"
    since = steps.index(re.search(r"every snapshot kept from step ([\d,]+) on; in between it wavers\.$", said)[1])
    assert all(right[since:]) and not right[since - 1] and since - 1 > first
    return "wavers"


def test_a_head_that_never_changed_and_a_sentence_without_a_choice_are_said_to_be_so():
    still = captions.Focus(np.array([0, 10, 20]), np.full((3, 2, 2), 0.25), 0.2)
    assert captions.head_story(still, 0, 0).endswith(
        "Between no two neighbouring snapshots does it change by 0.01 or more."
    )
    assert captions.heads_story(still).startswith("No head of this kind differs by 0.01 or more")
    single = captions.Focus(np.array([0, 10, 20]), np.full((3, 2, 2), np.nan), float("nan"))
    assert "every row has a single key to read" in captions.head_story(single, 1, 0) and not captions.heads_story(
        single
    )
