"""A film of training as the plain values that the player draws: maps, curves, and a few words for every moment."""

import base64

import numpy as np

from plots.text import KIND_NAMES, head_name, sentence_case, short_weight
from transformer.training.replay import Film, Reel

from .replay_text import (
    Focus,
    axes_words,
    film_maps,
    head_now,
    loss_words,
    output_words,
    place_words,
    score_words,
    spoken,
)

_TICKS = 5  # labels along the axis of the steps
_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)  # first digits of the upper end of an axis


def film_payload(
    film: Film, reel: Reel, focus: Focus, kind: str, layer: int, head: int, names: tuple[str, str]
) -> dict:
    """Everything the player shows of one reel and one kind of attention, ready for JSON; layer and head count from 0.

    `weights` are the maps of all moments and heads, [moments, layers, heads, queries, keys], as 65535ths in uint16:
    bytes in base64, exact to four decimals. A curve's x is the number of a moment, a step between two moments lying
    between them: early and late moments take the same room, as they do on the slider.
    """
    maps = film_maps(reel, kind)
    moments, layers, heads = maps.shape[:3]
    keys = reel.fed_tokens if kind == "decoder" else reel.source_tokens
    loss = _loss_curve(film)
    curves = [loss, _score_curve(film), _focus_curve(focus, layer, head)]
    told = [
        _moment(film, reel, moment, loss["said"][moment])
        | {"head": head_now(maps[moment, layer, head], kind, keys, focus.values[moment, layer, head], focus.even)}
        for moment in range(moments)
    ]
    return {
        "steps": film.steps.tolist(),
        "moments": told,
        "queries": list(reel.source_tokens if kind == "encoder" else reel.fed_tokens),
        "predicts": None if kind == "encoder" else list(reel.next_tokens),
        "keys": list(keys),
        "causal": kind == "decoder",
        "layers": layers,
        "heads": heads,
        "layer": layer,
        "head": head,
        "kind": KIND_NAMES[kind],
        "axes": axes_words(kind, *names),
        "name": head_name(layer, head, layers, heads),
        "weights": base64.b64encode(np.rint(np.nan_to_num(maps) * 65535).astype("<u2").tobytes()).decode("ascii"),
        "source": reel.source_text,
        "target": reel.target_text,
        "next": list(reel.next_tokens),
        "chances": [[(round(float(chance), 4), short_weight(chance)) for chance in row] for row in reel.probabilities],
        "curves": [curve for curve in curves if curve["lines"]],
        "ticks": _step_ticks(film),
        "length": max(1.0, moments - 1.0, *_places(film, film.losses[-1:, 0])),
    }


def _moment(film: Film, reel: Reel, moment: int, loss: str) -> dict:
    """What is said of a moment: its place, the output, and both together for those who hear the slider."""
    written, more = output_words(reel.outputs[moment])
    return {
        "place": place_words(film, moment),
        "wrote": written,
        "more": more,
        "right": reel.outputs[moment].split() == reel.target_text.split(),
        "spoken": spoken(film, reel, moment, loss),
    }


def _loss_curve(film: Film) -> dict:
    steps, losses = film.losses.T
    known = np.isfinite(losses)
    steps, losses = steps[known], losses[known]
    if not len(steps):
        return _curve("Training loss", [], 1.0, [None] * len(film.steps), [""] * len(film.steps))
    now = np.interp(film.steps, steps, losses, left=np.nan)
    at = [None if np.isnan(loss) else (moment, loss) for moment, loss in enumerate(now.tolist())]
    said = ["" if np.isnan(loss) else loss_words(loss) for loss in now]
    return _curve("Training loss", [_line(_places(film, steps), losses)], _ceiling(losses.max()), at, said)


def _score_curve(film: Film) -> dict:
    """The score as it was measured, a dot each time; at a moment, the latest measured by then."""
    steps, scores = film.scores.T
    places = _places(film, steps)
    latest = np.searchsorted(steps, film.steps, side="right") - 1
    at = [None if index < 0 else (float(places[index]), float(scores[index])) for index in latest]
    said = ["" if index < 0 else score_words(scores[index], film.score_name) for index in latest]
    share = film.score_name == "exact match"
    high = 1.0 if share else _ceiling(scores.max(initial=0))
    title = f"{sentence_case(film.score_name)} on held-out data"
    ticks = [(value, score_words(value, film.score_name) if share else f"{value:g}") for value in (0, high / 2, high)]
    lines = [_line(places, scores) | {"dots": True}] if len(steps) else []
    return _curve(title, lines, high, at, said) | {"ticks": ticks}


def _focus_curve(focus: Focus, layer: int, head: int) -> dict:
    """The focus of the chosen head before those of all others of its kind."""
    if not focus.known:
        return _curve("", [], 1.0, [], [])
    moments, layers, heads = focus.values.shape
    chosen = focus.values[:, layer, head]
    places = np.arange(moments)
    others = [
        _line(places, focus.values[:, other, number]) | {"faint": True}
        for other, number in np.ndindex(layers, heads)
        if (other, number) != (layer, head)
    ]
    at = list(enumerate(chosen.round(4).tolist()))
    said = list(map(short_weight, chosen))
    title = "A row's largest weight, on average: this head, and faint the others"
    return _curve(title, [*others, _line(places, chosen)], 1.0, at, said)


def _curve(title: str, lines: list[dict], high: float, at: list, said: list[str]) -> dict:
    """A curve from 0 to `high`: `at` is its dot (x, y) at each moment, `said` its value in words."""
    ticks = [(value, f"{value:g}") for value in (0, high / 2, high)]
    return {"title": title, "lines": lines, "high": high, "ticks": ticks, "at": at, "said": said}


def _line(places: np.ndarray, values: np.ndarray) -> dict:
    return {"x": np.round(places, 3).tolist(), "y": np.round(values, 4).tolist()}


def _places(film: Film, steps: np.ndarray) -> np.ndarray:
    """Where steps lie among the moments, counted from 0; after the last moment as far apart as before it."""
    kept = film.steps.astype(float)
    last = len(kept) - 1
    spacing = kept[-1] - kept[-2] if last else max(1.0, film.losses[-1:, 0].max(initial=0) - kept[0])
    return np.where(steps > kept[-1], last + (steps - kept[-1]) / spacing, np.interp(steps, kept, np.arange(last + 1)))


def _step_ticks(film: Film) -> list[tuple[int, str]]:
    chosen = np.linspace(0, len(film.steps) - 1, min(_TICKS, len(film.steps))).round().astype(int)
    return [(int(moment), f"{film.steps[moment]:,}") for moment in chosen]


def _ceiling(value: float) -> float:
    """A round number not below a positive value."""
    power = 10.0 ** np.floor(np.log10(max(value, 1e-6)))
    return float(next(first * power for first in _ROUND if first * power >= value * (1 - 1e-9)))
