"""Facts of a training replay for its player, and sentences on the training as a whole."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from headlight.app.facts import encode_array, pattern_place
from headlight.app.finding import Finding, Templates
from headlight.components.standalone import Words, standalone
from headlight.plots.tokens import nothing
from transformer.interpret.head_patterns import Focus, measure_focus, measure_head
from transformer.interpret.trace import blank_masked
from transformer.training import ProbeTrajectory, TrainingReplay

MOST_LETTERS = 70  # of an output in a sentence
TEMPLATES = Templates.beside(__file__)
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
    words = Words(TEMPLATES.text("title"), source, target, checkpoint, TEMPLATES.text("look_for"))
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
    return {"place": pattern_place(measured.label), "rows": count.rows, "eligible": count.eligible}


def output_story(replay: TrainingReplay, trajectory: ProbeTrajectory) -> Finding:
    """Name the update at which the model first wrote the target of its own accord, and count the snapshots since."""
    right = np.array([output.split() == trajectory.target_text.split() for output in trajectory.outputs])
    if not right.any():
        output = shortened(trajectory.outputs[-1]) or nothing()
        return TEMPLATES("never").followed_by(TEMPLATES("last_output", output=output))
    first = int(right.argmax())
    last = "" if right[first:].all() else TEMPLATES("at_last" if right[-1] else "not_at_last")
    since = TEMPLATES("since", right=int(right.sum()), snapshots=len(right) - first, last=last)
    return TEMPLATES("first", update=replay.steps[first]).followed_by(since)


def shortened(output: str) -> str:
    """Return an output's first letters, for a text; an untrained model's may be long, without a space."""
    begin = output[: MOST_LETTERS + 1]
    return output if len(output) <= MOST_LETTERS else f"{begin.rpartition(' ')[0] or begin[:-1]} …"


def averaging_words(training: Mapping) -> str:
    """Return the caption of a checkpoint that is a mean of weights, from training.json; "" for one training's last."""
    averaged = training.get("averaged_steps")
    if not isinstance(averaged, list) or len(averaged) < 2:
        return ""
    return TEMPLATES.text("averaged", saves=len(averaged))
