"""Facts of a training replay for its player, and sentences on the training as a whole."""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from headlight.app.facts import encode_array
from headlight.app.finding import Finding, Templates
from headlight.components.standalone import Words, standalone
from headlight.plots.tokens import NOTHING
from transformer.interpret.head_patterns import Focus, measure_focus, measure_head
from transformer.interpret.trace import blank_masked
from transformer.training import ProbeTrajectory, TrainingReplay

MOST_LETTERS = 70  # of an output in a sentence
TRY = "play it again: what improves first?"
TEMPLATES = Templates.beside(__file__)
ABOUT = TEMPLATES.texts["about"]
FULL = 65535  # the weight 1, as it is sent


def attention_maps(trajectory: ProbeTrajectory, kind: str) -> np.ndarray:
    """Return a kind's maps, [snapshots, layers, heads, queries, keys], NaN where the causal mask disallows."""
    return blank_masked(getattr(trajectory, kind), kind)


def focus_of(replay: TrainingReplay, trajectory: ProbeTrajectory, kind: str) -> Focus:
    """Return the focus of every head of a kind at every snapshot."""
    return measure_focus(replay.steps, attention_maps(trajectory, kind))


def replay_page(shown: dict, step: int, checkpoint: str) -> str:
    """Return one HTML file of a replay, which needs no server, at the snapshot nearest to a training step.

    `shown` has the facts of the replay and the chosen layer and head, from 0.
    """
    source, target = (shown["facts"][f"{side}_text"] for side in ("source", "target"))
    words = Words("The replay of a training", source, target, checkpoint, TEMPLATES.texts["look_for"])
    return standalone("replay_player/player", {**shown, "step": step, "following": False}, words)


def replay_facts(
    replay: TrainingReplay,
    trajectory: ProbeTrajectory,
    kind: str,
    focus: Focus,
    heads: Iterable[tuple[int, int]],
    languages: tuple[str, str],
) -> dict:
    """Return the facts that the player shows of one trajectory and kind: see replay_player/story.js.

    `focus` is that of the kind; `heads` are those whose pattern is measured at each snapshot; `languages` are those of
    source and target.
    """
    maps = attention_maps(trajectory, kind)
    keys = trajectory.decoder_input_tokens if kind == "decoder" else trajectory.source_tokens
    return {
        "kind": kind,
        "languages": list(languages),
        "steps": replay.steps.tolist(),
        "outputs": list(trajectory.outputs),
        "score_name": replay.score_name,
        "source_text": trajectory.source_text,
        "target_text": trajectory.target_text,
        "source_tokens": list(trajectory.source_tokens),
        "decoder_input_tokens": list(trajectory.decoder_input_tokens),
        "target_tokens": list(trajectory.target_tokens),
        "losses": encode_array(replay.losses[np.isfinite(replay.losses).all(axis=1)]),
        "scores": encode_array(replay.scores),
        "probabilities": encode_array(trajectory.probabilities),
        "attention": encode_array(np.rint(np.nan_to_num(maps) * FULL), "uint16"),
        "focus": encode_array(focus.values),
        "uniform": focus.uniform if focus.known else None,
        "patterns": {
            f"{layer}.{head}": [_pattern(each[layer, head], kind, keys) for each in maps] for layer, head in heads
        },
    }


def _pattern(weights: np.ndarray, kind: str, keys: Sequence[str]) -> dict | None:
    measured = measure_head(kind, weights, tuple(keys))
    if measured.label is None:
        return None
    count = measured.counts[measured.label]
    return {"label": str(measured.label), "rows": count.rows, "eligible": count.eligible}


def output_story(replay: TrainingReplay, trajectory: ProbeTrajectory) -> Finding:
    """Name the update at which the model first wrote the target of its own accord, and count the snapshots since."""
    right = np.array([output.split() == trajectory.target_text.split() for output in trajectory.outputs])
    if not right.any():
        output = textwrap.shorten(trajectory.outputs[-1], MOST_LETTERS, placeholder=" …") or NOTHING
        return TEMPLATES("never").followed_by(TEMPLATES("last_output", output=output))
    first = int(right.argmax())
    last = "" if right[first:].all() else TEMPLATES("at_last" if right[-1] else "not_at_last")
    since = TEMPLATES("since", right=int(right.sum()), snapshots=len(right) - first, last=last)
    return TEMPLATES("first", update=replay.steps[first]).followed_by(since)


def earlier_steps(training: Mapping, last: int) -> list[int]:
    """Return the steps at which a joined replay's trainings but the last ended, from training.json; [] for nonsense."""
    value = training.get("earlier_steps")
    steps: list = value if isinstance(value, list) else [value]
    whole = all(type(step) is int for step in steps)
    return steps if whole and all(before < after for before, after in pairwise([0, *steps, last])) else []


def begins_at_random(training: Mapping) -> bool:
    """Return whether step 0 has random weights although the last training had a warm start: a joined replay."""
    return training.get("replay_start") == "random weights"


def earlier_words(earlier: Sequence[int]) -> str:
    """Return the caption of a replay of several trainings: the update at which each but the first began."""
    return (
        f"{len(earlier) + 1} trainings, one after the other: after update {', '.join(f'{step:,}' for step in earlier)} "
        "the learning rate rose anew, from the mean of the last saves of the one before. “recipe” shows the last "
        "one's."
    )


def averaging_words(training: Mapping) -> str:
    """Return the caption of a checkpoint that is a mean of weights, from training.json; "" for one training's last."""
    averaged, further = training.get("averaged_steps"), training.get("averaged_with")
    with_it = f", averaged with {further}" if isinstance(further, str) and further else ""
    count = len(averaged) if isinstance(averaged, list) else 0
    if count < 2 and not with_it:
        return ""
    saves = f"the mean of {count} saves of this training" if count > 1 else "the last save of this training"
    curve = ", as for the curve of BLEU" if count > 1 else ""
    return (
        f"The replay shows the weights as they were at each update. The checkpoint of the other pages is {saves}"
        f"{with_it}{curve}: it may translate otherwise than the last snapshot."
    )
