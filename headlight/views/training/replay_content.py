"""What a training replay shows and says: the plain values that the player draws, and sentences on them."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from headlight.components.standalone import Words, standalone
from headlight.plots.text import (
    KIND_NAMES,
    NOTHING,
    Finding,
    head_name,
    pattern_words,
    percent,
    pluralize,
    sentence_case,
    short_weight,
)
from transformer.interpret.head_patterns import Focus, measure_focus, measure_head
from transformer.interpret.trace import blank_masked
from transformer.training.replay import ProbeTrajectory, TrainingReplay

MOST_WORDS, MOST_LETTERS = 16, 70  # early outputs repeat one word to the length limit
_TICKS = 5  # labels along the axis of the steps
_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)  # first digits of the upper end of an axis
WORDS = {  # the same in the live page, which fills them in for the head that is chosen
    "single_key": "every row has a single key to read, so there is nothing to choose",
    "sharp": "A row's largest weight is {focus} on average (spread evenly: {uniform}).",
    "focus": "A row's largest weight, on average: this head, and faint the others",
    "as_it_began": "ends at {high}, as it began",
    "goes": "goes from {low} at update {begin} to {high} at update {end}",
    "course": "{name}: a row's largest weight {course}, on average (spread evenly: {uniform}).",
    "none_more": "None of the {heads} changes more.",
    "changes": "changes most, from {low} to {high}",
    "hardly": "changes most, and hardly: {high}",
    "most": "Of all {heads} {name} {changed}.",
    "try": "playing it again: which changes of sentence and heads go along with each other? That does not yet mean "
    "that one is the reason for the other.",
    "about": "Each snapshot shows what the model wrote by then, and what every head attended to while the decoder was "
    "fed the target. Snapshots are equally far apart on the slider and in the curves: there are more early in the "
    "training, when most changes. The sentences are those of the recording, not the one above.",
    "reduced": "Here are {snapshots} of its {all} snapshots, one of its sentences and the cross-attention, each weight "
    "as one of 256 steps, exact to 0.002.",
}
_LOOK_FOR = (
    "Play it, or move the slider: what the model wrote by then, every head's map, and the curves. Point at a small map "
    "and its weights are read out. To see another head large takes the app."
)


@dataclass(frozen=True)
class ShownHead:
    """The head that is drawn large: a kind of attention, layer and head, both counted from 0."""

    kind: str
    layer: int
    head: int


def attention_maps(trajectory: ProbeTrajectory, kind: str) -> np.ndarray:
    """Return a kind's maps, [snapshots, layers, heads, queries, keys], NaN where the causal mask disallows."""
    return blank_masked(getattr(trajectory, kind), kind)


def focus_of(replay: TrainingReplay, trajectory: ProbeTrajectory, kind: str) -> Focus:
    """Return the focus of every head of a kind at every snapshot."""
    return measure_focus(replay.steps, attention_maps(trajectory, kind))


def replay_page(payload: dict, step: int, checkpoint: str) -> str:
    """Return one HTML file of a replay, which needs no server, at the snapshot nearest to a training step."""
    words = Words("The replay of a training", payload["source"], payload["target"], checkpoint, _LOOK_FOR)
    return standalone("replay_player/player", {**payload, "step": step, "following": False}, words)


def replay_payload(
    replay: TrainingReplay, trajectory: ProbeTrajectory, focus: Focus, shown: ShownHead, names: tuple[str, str]
) -> dict:
    """Return everything the player shows of one trajectory and one kind of attention, ready for JSON.

    `weights` are the maps of all snapshots and heads, [snapshots, layers, heads, queries, keys], as 65535ths in uint16:
    bytes in base64, exact to four decimals. A curve's x is the number of a snapshot, a step between two snapshots lying
    between them: early and late snapshots take the same room, as they do on the slider. `names` are those of source
    and target.
    """
    kind, layer, head = shown.kind, shown.layer, shown.head
    maps = attention_maps(trajectory, kind)
    snapshots, layers, heads = maps.shape[:3]
    loss = _loss_curve(replay)
    curves = [loss, _score_curve(replay), _focus_curve(focus, layer, head)]
    texts = _texts(replay, trajectory, loss["said"], _head_texts(trajectory, maps, focus, shown))
    return {
        "steps": replay.steps.tolist(),
        "texts": texts,
        "queries": list(trajectory.source_tokens if kind == "encoder" else trajectory.decoder_input_tokens),
        "predicts": None if kind == "encoder" else list(trajectory.target_tokens),
        "keys": _keys(trajectory, kind),
        "causal": kind == "decoder",
        "layers": layers,
        "heads": heads,
        "layer": layer,
        "head": head,
        "kind": KIND_NAMES[kind],
        "axes": axes_text(kind, *names),
        "name": head_name(layer, head, layers, heads),
        "weights": base64.b64encode(np.rint(np.nan_to_num(maps) * 65535).astype("<u2").tobytes()).decode("ascii"),
        "source": trajectory.source_text,
        "target": trajectory.target_text,
        "next": list(trajectory.target_tokens),
        "chances": [[(round(float(p), 4), short_weight(p)) for p in row] for row in trajectory.probabilities],
        "curves": [curve for curve in curves if curve["lines"]],
        "ticks": _step_ticks(replay),
        "length": max(1.0, snapshots - 1.0, *_positions(replay, replay.losses[-1:, 0])),
    }


def _keys(trajectory: ProbeTrajectory, kind: str) -> list[str]:
    return list(trajectory.decoder_input_tokens if kind == "decoder" else trajectory.source_tokens)


def _head_texts(trajectory: ProbeTrajectory, maps: np.ndarray, focus: Focus, shown: ShownHead) -> list[str]:
    """Return a sentence on the head for each snapshot."""
    keys, index = tuple(_keys(trajectory, shown.kind)), (slice(None), shown.layer, shown.head)
    return [
        head_text(weights, shown.kind, keys, value, focus.uniform)
        for weights, value in zip(maps[index], focus.values[index], strict=True)
    ]


def _texts(replay: TrainingReplay, trajectory: ProbeTrajectory, losses: list[str], heads: list[str]) -> list[dict]:
    """Return the texts of each snapshot: its update, the output, the head, and all for those who hear the slider."""
    texts = []
    for step, output, loss, head in zip(replay.steps, trajectory.outputs, losses, heads, strict=True):
        written, more = output_text(output)
        progress, known = f"update {step:,} of {replay.steps[-1]:,}", f"loss {loss}" if loss else "no loss yet"
        texts.append(
            {
                "place": sentence_case(progress),
                "wrote": written,
                "more": more,
                "right": output.split() == trajectory.target_text.split(),
                "spoken": f"{progress}: {known}, wrote: {written} {more}".rstrip(),
                "head": head,
            }
        )
    return texts


def _loss_curve(replay: TrainingReplay) -> dict:
    steps, losses = replay.losses.T
    known = np.isfinite(losses)
    steps, losses = steps[known], losses[known]
    if not len(steps):
        return _curve("Training loss", [], 1.0, [None] * len(replay.steps), [""] * len(replay.steps))
    now = np.interp(replay.steps, steps, losses, left=np.nan)
    at = [None if np.isnan(loss) else (snapshot, loss) for snapshot, loss in enumerate(now.tolist())]
    texts = ["" if np.isnan(loss) else loss_text(loss) for loss in now]
    return _curve("Training loss", [_line(_positions(replay, steps), losses)], _ceiling(losses.max()), at, texts)


def _score_curve(replay: TrainingReplay) -> dict:
    """Return the score as it was measured, a dot each time; at a snapshot, the latest measured by then."""
    steps, scores = replay.scores.T
    positions = _positions(replay, steps)
    latest = np.searchsorted(steps, replay.steps, side="right") - 1
    at = [None if index < 0 else (float(positions[index]), float(scores[index])) for index in latest]
    texts = ["" if index < 0 else score_text(scores[index], replay.score_name) for index in latest]
    share = replay.score_name == "exact match"
    high = 1.0 if share else _ceiling(scores.max(initial=0))
    title = f"{sentence_case(replay.score_name)} on held-out data"
    ticks = [(value, score_text(value, replay.score_name) if share else f"{value:g}") for value in (0, high / 2, high)]
    lines = [_line(positions, scores) | {"dots": True}] if len(steps) else []
    return _curve(title, lines, high, at, texts) | {"ticks": ticks}


def _focus_curve(focus: Focus, layer: int, head: int) -> dict:
    """Return the focus of the chosen head before those of all others of its kind."""
    if not focus.known:
        return _curve("", [], 1.0, [], [])
    snapshots, layers, heads = focus.values.shape
    chosen = focus.values[:, layer, head]
    positions = np.arange(snapshots)
    others = [
        _line(positions, focus.values[:, other, number]) | {"faint": True}
        for other, number in np.ndindex(layers, heads)
        if (other, number) != (layer, head)
    ]
    at = list(enumerate(chosen.round(4).tolist()))
    texts = list(map(short_weight, chosen))
    return _curve(WORDS["focus"], [*others, _line(positions, chosen)], 1.0, at, texts)


def _curve(title: str, lines: list[dict], high: float, at: list, texts: list[str]) -> dict:
    """Return a curve from 0 to `high`: `at` is its dot (x, y) at each snapshot, `texts` its value there, written."""
    ticks = [(value, f"{value:g}") for value in (0, high / 2, high)]
    return {"title": title, "lines": lines, "high": high, "ticks": ticks, "at": at, "said": texts}


def _line(positions: np.ndarray, values: np.ndarray) -> dict:
    return {"x": np.round(positions, 3).tolist(), "y": np.round(values, 4).tolist()}


def _positions(replay: TrainingReplay, steps: np.ndarray) -> np.ndarray:
    """Return where steps lie among the snapshots, from 0; after the last one as far apart as before it."""
    kept = replay.steps.astype(float)
    last = len(kept) - 1
    spacing = kept[-1] - kept[-2] if last else max(1.0, replay.losses[-1:, 0].max(initial=0) - kept[0])
    return np.where(steps > kept[-1], last + (steps - kept[-1]) / spacing, np.interp(steps, kept, np.arange(last + 1)))


def _step_ticks(replay: TrainingReplay) -> list[tuple[int, str]]:
    chosen = np.linspace(0, len(replay.steps) - 1, min(_TICKS, len(replay.steps))).round().astype(int)
    return [(int(snapshot), f"{replay.steps[snapshot]:,}") for snapshot in chosen]


def _ceiling(value: float) -> float:
    """Return a round number not below a positive value."""
    power = 10.0 ** np.floor(np.log10(max(value, 1e-6)))
    return float(next(first * power for first in _ROUND if first * power >= value * (1 - 1e-9)))


def axes_text(kind: str, source: str, target: str) -> str:
    """Name a map's rows and columns; source and target are names such as "English" and "French"."""
    if kind == "cross":
        return f"rows: {target}, as it was fed to the decoder; columns: {source}"
    return f"rows and columns: {source}" if kind == "encoder" else f"rows and columns: {target}, as it was fed"


def output_text(text: str) -> tuple[str, str]:
    """Return an output cut to what can be shown, and how many words are left out ("" for none)."""
    words = text.split()
    shown = ""
    for taken, word in enumerate(words):
        longer = f"{shown} {word}".lstrip()
        if taken == MOST_WORDS or (taken and len(longer) > MOST_LETTERS):
            return shown, f"… and {pluralize(len(words) - taken, 'more word')}"
        shown = longer if len(longer) <= MOST_LETTERS else f"{longer[:MOST_LETTERS]}…"
    return shown or NOTHING, ""


def loss_text(loss: float) -> str:
    """Write a loss with two decimals, one that they would round away with its first digit."""
    return f"{loss:.2f}" if loss >= 0.095 else f"{loss:.1g}"


def score_text(value: float, name: str) -> str:
    """Write exact match in per cent, other scores with one decimal."""
    return percent(value) if name == "exact match" else f"{value:.1f}"


def head_text(weights: np.ndarray, kind: str, keys: tuple[str, ...], focus: float, uniform: float) -> str:
    """Describe a head at a snapshot: how sharply it attends, beside the uniform baseline, and its pattern, if any."""
    if not np.isfinite(uniform):
        return f"{sentence_case(WORDS['single_key'])}."
    sharp = WORDS["sharp"].format(focus=short_weight(focus), uniform=short_weight(uniform))
    measured = measure_head(kind, weights, keys)
    return sharp if measured.label is None else f"{sharp} {sentence_case(pattern_words(measured, measured.label))}."


def head_story(focus: Focus, layer: int, head: int) -> str:
    """Describe a head over the training: how sharp its rows were at its beginning and at its end."""
    name = sentence_case(head_name(layer, head, *focus.values.shape[1:]))
    if not focus.known:
        return f"{name}: {WORDS['single_key']}."
    (begin, end), (low, high) = focus.steps[[0, -1]], map(short_weight, focus.values[[0, -1], layer, head])
    template = WORDS["as_it_began" if low == high else "goes"]
    course = template.format(low=low, high=high, begin=f"{begin:,}", end=f"{end:,}")
    return WORDS["course"].format(name=name, course=course, uniform=short_weight(focus.uniform))


def heads_story(focus: Focus, shown: tuple[int, int]) -> str:
    """Say which head of the kind changed most, beside the one that is shown; "" if nothing can be compared."""
    snapshots, layers, heads = focus.values.shape
    if not focus.known or snapshots < 3 or layers * heads < 2:
        return ""
    layer, head = focus.most_changed()
    if (layer, head) == shown:
        return WORDS["none_more"].format(heads=pluralize(layers * heads, "head"))
    first, last = (short_weight(value) for value in focus.values[[0, -1], layer, head])
    changed = WORDS["hardly" if first == last else "changes"].format(low=first, high=last)
    name = head_name(layer, head, layers, heads)
    return WORDS["most"].format(heads=pluralize(layers * heads, "head"), name=name, changed=changed)


def output_story(replay: TrainingReplay, trajectory: ProbeTrajectory) -> Finding:
    """Say when the model first wrote the target of its own accord, and how often since."""
    right = np.array([output.split() == trajectory.target_text.split() for output in trajectory.outputs])
    if not right.any():
        wrote = " ".join(output_text(trajectory.outputs[-1])).rstrip()
        return Finding("At none of these snapshots does the model write the target.", f"At the last it writes: {wrote}")
    first = int(right.argmax())
    last = "" if right[first:].all() else ", at the last it does" if right[-1] else ", at the last it does not"
    return Finding(
        f"The model first writes the target at update {replay.steps[first]:,}.",
        f"From there on it does so at {int(right.sum())} of {pluralize(len(right) - first, 'snapshot')}{last}.",
    )


def earlier_steps(training: Mapping, last: int) -> list[int]:
    """Return the steps at which a joined replay's trainings but the last ended, from training.json; [] for nonsense."""
    given = training.get("earlier_steps")
    steps: list = given if isinstance(given, list) else [given]
    whole = all(type(step) is int for step in steps)
    return steps if whole and all(before < after for before, after in pairwise([0, *steps, last])) else []


def begins_at_random(training: Mapping) -> bool:
    """Return whether step 0 has random weights although the last training had a warm start: a joined replay."""
    return training.get("replay_start") == "random weights"


def earlier_words(earlier: Sequence[int]) -> str:
    """Say that a replay shows several trainings, and where each but the first began."""
    return (
        f"{len(earlier) + 1} trainings, one after the other: after update {', '.join(f'{step:,}' for step in earlier)} "
        "the learning rate rose anew, from the mean of the last saves of the one before. “recipe” shows the last "
        "one's."
    )


def averaging_words(training: Mapping) -> str:
    """Say how the checkpoint was made from trainings, from training.json; "" if it is one training's last weights."""
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
