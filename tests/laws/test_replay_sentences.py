"""Laws of training replays: the update at which the model wrote the target, and earlier trainings."""

from dataclasses import replace

from support.traces import CHECKPOINTS

from headlight.views.training import replay_content as content
from transformer.training.replay import REPLAY_FILE, load_replay


def test_the_update_at_which_the_model_wrote_the_target():
    replay = load_replay(CHECKPOINTS / "reverse" / REPLAY_FILE)
    target, steps = replay.trajectories[0].target_text, replay.steps.tolist()
    for right in ("", "0000", "0001", "1111", "0110", "0101", "1000"):
        outputs = [target if each == "1" else "x y" for each in right] or replay.trajectories[0].outputs
        part = replace(replay.trajectories[0], outputs=tuple(outputs))
        finding = content.output_story(replace(replay, steps=replay.steps[: len(outputs)]), part)
        written = [output.split() == target.split() for output in outputs]
        assert (finding.name == "first") == any(written)
        if not any(written):
            assert finding["output"] == "x y"
            continue
        first = steps.index(finding["update"])
        assert written[first] and not any(written[:first])
        assert (finding["right"], finding["snapshots"]) == (sum(written), len(written) - first)
        is_complete = sum(written) == len(written) - first
        assert ("at_last" in finding, "not_at_last" in finding) == (
            (False, False) if is_complete else (written[-1], not written[-1])
        )


def test_a_mean_of_saves_is_captioned():
    assert "2 saves" in content.averaging_words({"averaged_steps": [5, 6]})
    assert content.averaging_words({}) == content.averaging_words({"averaged_steps": [5]}) == ""
