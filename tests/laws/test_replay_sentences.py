"""Laws of training replays: the focus of each head, and the moment when the model wrote the target."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from support.traces import CHECKPOINTS, KINDS

from headlight.views.training import replay_content as content
from transformer.training.replay import REPLAY_FILE, load_replay

NAMES = ("en-de", "en-fr", "reverse")


@cache
def _replay(name: str):
    return load_replay(CHECKPOINTS / name / REPLAY_FILE)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_the_focus_of_a_head_is_the_mean_of_its_rows_largest_weights(name, kind):
    for trajectory in _replay(name).trajectories:
        maps = getattr(trajectory, kind).astype(np.float64)
        widths = [row + 1 if kind == "decoder" else maps.shape[-1] for row in range(maps.shape[-2])]
        rows = [row for row, width in enumerate(widths) if width > 1]
        focus = content.focus_of(_replay(name), trajectory, kind)
        largest = [maps[..., row, : widths[row]].max(axis=-1) for row in rows]
        np.testing.assert_allclose(focus.values, np.mean(largest, axis=0), rtol=1e-6)
        assert focus.uniform == pytest.approx(np.mean([1 / widths[row] for row in rows]))


def test_when_the_model_wrote_the_target():
    replay = _replay("reverse")
    target, steps = replay.trajectories[0].target_text, replay.steps.tolist()
    for right in ("", "0000", "0001", "1111", "0110", "0101", "1000"):
        outputs = [target if each == "1" else "x y" for each in right] or replay.trajectories[0].outputs
        part = replace(replay.trajectories[0], outputs=tuple(outputs))
        said = str(content.output_story(replace(replay, steps=replay.steps[: len(outputs)]), part))
        written = [output.split() == target.split() for output in outputs]
        if not any(written):
            assert said == "The model never writes the target here. At the last snapshot it writes: x y"
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
