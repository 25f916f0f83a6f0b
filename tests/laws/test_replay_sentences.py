"""Laws of the sentences on training replays: what changed in which head, and when the model wrote the target."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from support.head_rows import COUNTED, Head, thresholds
from support.streams import CHECKPOINTS, KINDS

from headlight.views.training import replay_content as content
from transformer.interpret.head_patterns import Focus
from transformer.training.replay import REPLAY_FILE, load_replay

NAMES = ("en-de", "en-fr", "reverse")
_WEIGHT = r"(\.\d\d|1\.00)"


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
    return abs(float(text) - value) <= 0.005 + 1e-6


def _cases():
    return [(name, at, kind) for name in NAMES for at in range(len(_replay(name).trajectories)) for kind in KINDS]


def _focus(name: str, number: int, kind: str) -> Focus:
    return content.focus_of(_replay(name), _replay(name).trajectories[number], kind)


_CHANGE = rf"goes from {_WEIGHT} at update ([\d,]+) to {_WEIGHT} at update ([\d,]+)"


@pytest.mark.parametrize("case", _cases())
def test_how_each_head_changed_over_the_training_and_which_one_most(case):
    focus, (values, uniform), steps = _focus(*case), _values(*case), _replay(case[0]).steps.tolist()
    for layer, head in np.ndindex(values.shape[1:]):
        own = values[:, layer, head]
        course, even = re.fullmatch(
            rf"Layer {layer + 1}, head {head + 1}: a row's largest weight (.*), on average \(spread evenly: "
            rf"{_WEIGHT}\)\.",
            content.head_story(focus, layer, head),
        ).groups()
        assert _is_weight(even, uniform)
        if stays := re.fullmatch(rf"ends at {_WEIGHT}, as it began", course):
            assert _is_weight(stays[1], own[0]) and _is_weight(stays[1], own[-1])
            continue
        first, begin, last, end = re.fullmatch(_CHANGE, course).groups()
        assert (int(begin.replace(",", "")), int(end.replace(",", ""))) == (steps[0], steps[-1])
        assert first != last and _is_weight(first, own[0]) and _is_weight(last, own[-1])

    count, layer, head, first, last = re.fullmatch(
        rf"Of all (\d+) heads layer (\d+), head (\d+) changes most, from {_WEIGHT} to {_WEIGHT}\.",
        content.heads_story(focus, (-1, -1)),
    ).groups()
    index, difference = (int(layer) - 1, int(head) - 1), np.abs(values[-1] - values[0])
    assert content.heads_story(focus, index) == f"None of the {count} heads changes more."
    assert int(count) == difference.size and difference[index] >= difference.max() - 1e-6
    assert _is_weight(first, values[(0, *index)]) and _is_weight(last, values[(-1, *index)])


def test_what_did_not_move_is_not_said_to_have_moved():
    still = Focus(np.array([0, 10, 20]), np.array([[[0.251, 0.25]], [[0.9, 0.1]], [[0.253, 0.25]]]), 0.2)
    assert content.head_story(still, 0, 0).startswith(
        "Layer 1, head 1: a row's largest weight ends at .25, as it began"
    )
    assert content.heads_story(still, (0, 1)) == "Of all 2 heads layer 1, head 1 changes most, and hardly: .25."


@pytest.mark.parametrize("case", _cases()[::2])
def test_what_a_head_does_at_a_snapshot(case):
    name, number, kind = case
    trajectory, (values, uniform), labels = _replay(name).trajectories[number], _values(*case), thresholds()
    keys = trajectory.decoder_input_tokens if kind == "decoder" else trajectory.source_tokens
    maps = content.attention_maps(trajectory, kind)
    for snapshot in range(0, len(maps), 6):
        for layer, head in np.ndindex(maps.shape[1:3]):
            weights, own = maps[snapshot, layer, head], values[snapshot, layer, head]
            said = content.head_text(weights, kind, keys, float(own), uniform)
            sharp, even = re.match(
                rf"A row's largest weight is {_WEIGHT} on average \(spread evenly: {_WEIGHT}\)\.", said
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


def test_a_head_that_has_a_pattern_is_told_it():
    said = content.head_text(np.eye(5) * 0.8 + 0.04, "encoder", tuple("abcde"), 0.84, 0.2)
    assert said.startswith("A row's largest weight is .84 on average (spread evenly: .20). In 5 of the 5 rows")


def test_when_the_model_wrote_the_target():
    replay = _replay("reverse")
    target, steps = replay.trajectories[0].target_text, replay.steps.tolist()
    for right in ("", "0000", "0001", "1111", "0110", "0101", "1000"):
        outputs = [target if each == "1" else "x y" for each in right] or replay.trajectories[0].outputs
        part = replace(replay.trajectories[0], outputs=tuple(outputs))
        said = str(content.output_story(replace(replay, steps=replay.steps[: len(outputs)]), part))
        written = [output.split() == target.split() for output in outputs]
        if not any(written):
            assert said == "At none of these snapshots does the model write the target. At the last it writes: x y"
            continue
        first, count, of, last = re.fullmatch(
            r"The model first writes the target at update ([\d,]+)\. From there on it does so at (\d+) of (\d+) "
            r"snapshots?(?:, at the last it (does|does not))?\.",
            said,
        ).groups()
        first = steps.index(int(first.replace(",", "")))
        assert written[first] and not any(written[:first]) and (last != "does not") == written[-1]
        assert (int(count), int(of)) == (sum(written), len(written) - first)
        assert bool(last) == (count != of)


@pytest.mark.parametrize(
    "text, shown, more",
    [
        (" \n ", content.NOTHING, ""),
        ("Je ne sais pas.", "Je ne sais pas.", ""),
        ("puis " * 60, " ".join(["puis"] * 14), "… and 46 more words"),
        ("a " * 17, " ".join("a" * 16), "… and 1 more word"),
        ("x" * 500 + " end", "x" * content.MOST_LETTERS + "…", "… and 1 more word"),
    ],
)
def test_a_long_output_is_cut_and_says_how_much_is_left_out(text, shown, more):
    assert content.output_text(text) == (shown, more)


def test_a_replay_that_has_just_begun_and_a_sentence_without_a_choice_can_be_told():
    steps, young = np.array([0, 10, 20]), Focus(np.array([0]), np.full((1, 2, 2), 0.25), 0.2)
    assert content.head_story(young, 0, 0).endswith("ends at .25, as it began, on average (spread evenly: .20).")
    lone = Focus(steps, np.full((3, 1, 1), 0.25), 0.2)
    assert content.heads_story(young, (0, 0)) == content.heads_story(lone, (0, 0)) == ""
    single = Focus(steps, np.full((3, 2, 2), np.nan), float("nan"))
    assert "every row has a single key to read" in content.head_story(single, 1, 0)
    assert content.heads_story(single, (1, 0)) == ""
    assert content.head_text(np.ones((2, 1)), "cross", ("a",), np.nan, np.nan).startswith("Every row has a single key")


@pytest.mark.parametrize("nonsense", [None, 0, -3, 900, "5", [], [5, 5], [7, 3], [3, "5"], [3, None], True, {}])
def test_what_training_json_tells_of_earlier_trainings(nonsense):
    assert content.earlier_steps({"earlier_steps": nonsense}, 900) == []
    assert content.earlier_steps({"earlier_steps": 30}, 900) == [30]
    assert content.earlier_steps({"earlier_steps": [3, 5]}, 9) == [3, 5]
    assert content.earlier_words([3, 1500]).startswith("3 trainings, one after the other: after update 3, 1,500 the")
    assert "the mean of 2 saves of this training, a" in content.averaging_words({"averaged_steps": [5, 6]})
    one = content.averaging_words({"averaged_steps": [5], "averaged_with": "x"})
    assert "is the last save of this training, averaged with x: it may" in one
    assert content.averaging_words({}) == content.averaging_words({"averaged_steps": [5]}) == ""
