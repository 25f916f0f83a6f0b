"""A training replay as the plain values that the player draws: maps, curves, and a few texts for every snapshot."""

import base64
from dataclasses import dataclass

import numpy as np

from headlight.plots.text import KIND_NAMES, head_name, sentence_case, short_weight
from transformer.training.replay import ProbeTrajectory, TrainingReplay

from .replay_text import (
    Focus,
    attention_maps,
    axes_text,
    head_text,
    loss_text,
    output_text,
    progress_text,
    score_text,
    spoken_text,
)

_TICKS = 5  # labels along the axis of the steps
_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)  # first digits of the upper end of an axis


@dataclass(frozen=True)
class ShownHead:
    """The head that is drawn large: a kind of attention, layer and head, both counted from 0."""

    kind: str
    layer: int
    head: int


def replay_payload(
    replay: TrainingReplay, trajectory: ProbeTrajectory, focus: Focus, shown: ShownHead, names: tuple[str, str]
) -> dict:
    """Everything the player shows of one trajectory and one kind of attention, ready for JSON.

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
        "queries": list(trajectory.source_tokens if kind == "encoder" else trajectory.fed_tokens),
        "predicts": None if kind == "encoder" else list(trajectory.next_tokens),
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
        "next": list(trajectory.next_tokens),
        "chances": [[(round(float(p), 4), short_weight(p)) for p in row] for row in trajectory.probabilities],
        "curves": [curve for curve in curves if curve["lines"]],
        "ticks": _step_ticks(replay),
        "length": max(1.0, snapshots - 1.0, *_positions(replay, replay.losses[-1:, 0])),
    }


def _keys(trajectory: ProbeTrajectory, kind: str) -> list[str]:
    return list(trajectory.fed_tokens if kind == "decoder" else trajectory.source_tokens)


def _head_texts(trajectory: ProbeTrajectory, maps: np.ndarray, focus: Focus, shown: ShownHead) -> list[str]:
    """A sentence on the head for each snapshot."""
    keys, place = tuple(_keys(trajectory, shown.kind)), (slice(None), shown.layer, shown.head)
    return [
        head_text(weights, shown.kind, keys, value, focus.uniform)
        for weights, value in zip(maps[place], focus.values[place], strict=True)
    ]


def _texts(replay: TrainingReplay, trajectory: ProbeTrajectory, losses: list[str], heads: list[str]) -> list[dict]:
    """The texts of each snapshot: its step, the output, the head, and all for those who hear the slider."""
    texts = []
    for number, (loss, head) in enumerate(zip(losses, heads, strict=True)):
        output = trajectory.outputs[number]
        written, more = output_text(output)
        texts.append(
            {
                "place": progress_text(replay, number),
                "wrote": written,
                "more": more,
                "right": output.split() == trajectory.target_text.split(),
                "spoken": spoken_text(replay, trajectory, number, loss),
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
    """The score as it was measured, a dot each time; at a snapshot, the latest measured by then."""
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
    """The focus of the chosen head before those of all others of its kind."""
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
    title = "A row's largest weight, on average: this head, and faint the others"
    return _curve(title, [*others, _line(positions, chosen)], 1.0, at, texts)


def _curve(title: str, lines: list[dict], high: float, at: list, texts: list[str]) -> dict:
    """A curve from 0 to `high`: `at` is its dot (x, y) at each snapshot, `texts` its value there, written."""
    ticks = [(value, f"{value:g}") for value in (0, high / 2, high)]
    return {"title": title, "lines": lines, "high": high, "ticks": ticks, "at": at, "said": texts}


def _line(positions: np.ndarray, values: np.ndarray) -> dict:
    return {"x": np.round(positions, 3).tolist(), "y": np.round(values, 4).tolist()}


def _positions(replay: TrainingReplay, steps: np.ndarray) -> np.ndarray:
    """Where steps lie among the snapshots, counted from 0; after the last snapshot as far apart as before it."""
    kept = replay.steps.astype(float)
    last = len(kept) - 1
    spacing = kept[-1] - kept[-2] if last else max(1.0, replay.losses[-1:, 0].max(initial=0) - kept[0])
    return np.where(steps > kept[-1], last + (steps - kept[-1]) / spacing, np.interp(steps, kept, np.arange(last + 1)))


def _step_ticks(replay: TrainingReplay) -> list[tuple[int, str]]:
    chosen = np.linspace(0, len(replay.steps) - 1, min(_TICKS, len(replay.steps))).round().astype(int)
    return [(int(snapshot), f"{replay.steps[snapshot]:,}") for snapshot in chosen]


def _ceiling(value: float) -> float:
    """A round number not below a positive value."""
    power = 10.0 ** np.floor(np.log10(max(value, 1e-6)))
    return float(next(first * power for first in _ROUND if first * power >= value * (1 - 1e-9)))
