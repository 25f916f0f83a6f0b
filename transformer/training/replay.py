"""Film: what the model attended to, and wrote, at moments of its training."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import safetensors
import torch
from safetensors.numpy import load_file

from ..arrays import read_only
from ..errors import CheckpointError
from ..files import save_tensors
from ..model.names import AttentionKind

FILE = "film.safetensors"
MOMENTS = 25
_LARGEST_FILE = 20_000_000  # bytes; our own have 2 MB at most
_LISTS = ("source_tokens", "fed_tokens", "next_tokens", "outputs")


@dataclass(frozen=True, eq=False)
class Reel:
    """One probe, the same pair of source and target at every moment. Arrays are float32 and read-only.

    encoder: [moments, layers, heads, source, source], decoder: [moments, layers, heads, target, target],
    cross: [moments, layers, heads, target, source], of the teacher-forced pass over source and `target_text`; kept
    with 11 bits, so exact to 0.0003. Decoder row t was fed `fed_tokens[t]`; `next_tokens[t]` follows, to which the
    model gave probabilities[moment, t]. `outputs[moment]` is what it wrote of its own accord, greedily.
    """

    source_text: str
    target_text: str
    source_tokens: tuple[str, ...]
    fed_tokens: tuple[str, ...]
    next_tokens: tuple[str, ...]
    outputs: tuple[str, ...]
    encoder: np.ndarray
    decoder: np.ndarray
    cross: np.ndarray
    probabilities: np.ndarray


@dataclass(frozen=True, eq=False)
class Film:
    """A training run in moments, from step 0 on, with its curves.

    steps: [moments], optimiser steps done at each, rising. losses: [points, 2], step and mean training loss in nats
    up to it. scores: [points, 2], step and the measure `score_name`, such as "BLEU". Read-only.
    """

    steps: np.ndarray
    reels: tuple[Reel, ...]
    losses: np.ndarray
    scores: np.ndarray
    score_name: str

    def save(self, path: Path) -> None:
        """Write one safetensors file, in one piece; weights and probabilities with 16 bits."""
        header = {"score_name": self.score_name, "reels": []}
        tensors = {"steps": self.steps, "losses": self.losses, "scores": self.scores}
        for number, reel in enumerate(self.reels):
            header["reels"].append({name: getattr(reel, name) for name in ("source_text", "target_text", *_LISTS)})
            for name in (*AttentionKind, "probabilities"):
                tensors[f"{number}/{name}"] = getattr(reel, name).astype(np.float16)
        texts = torch.tensor(list(json.dumps(header).encode()), dtype=torch.uint8)
        save_tensors(Path(path), {**{n: torch.tensor(a) for n, a in tensors.items()}, "texts": texts})


def load_film(path: Path) -> Film:
    """Read a film; raises CheckpointError, one sentence, when it is missing, damaged, or no film."""
    path = Path(path)
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise CheckpointError(f"The film {path} is larger than {_LARGEST_FILE // 1_000_000} MB.")
        arrays = load_file(path)
        header = json.loads(arrays["texts"].tobytes())
        reels = tuple(_read_reel(arrays, number, texts) for number, texts in enumerate(header["reels"]))
        steps, losses, scores = (_finite(arrays[name]) for name in ("steps", "losses", "scores"))
        film = Film(steps, reels, losses, scores, str(header["score_name"]))
        _check(film)
    except FileNotFoundError as error:
        raise CheckpointError(f"{path} is missing.") from error
    except (OSError, KeyError, TypeError, ValueError, RecursionError, safetensors.SafetensorError) as error:
        raise CheckpointError(f"{path} is damaged or no film: {error}.") from error
    return film


def moments(max_steps: int, count: int = MOMENTS) -> list[int]:
    """Steps to keep in a run of known length: 0, then each a constant factor after the one before, up to the last.

    Early steps change more than late ones. Fewer than `count` where there are not as many steps.
    """
    first = max(1, max_steps // 500)
    later = np.geomspace(first, max_steps, count - 1).round().astype(int)
    return [0, *dict.fromkeys(later.tolist())]


def _read_reel(arrays: dict, number: int, texts: dict) -> Reel:
    lists = {name: tuple(map(str, texts[name])) for name in _LISTS}
    maps = {name: _finite(arrays[f"{number}/{name}"].astype(np.float32)) for name in (*AttentionKind, "probabilities")}
    return Reel(source_text=str(texts["source_text"]), target_text=str(texts["target_text"]), **lists, **maps)


def _finite(array: np.ndarray) -> np.ndarray:
    if not np.isfinite(array).all():
        raise ValueError("it holds values that are not finite numbers")
    return read_only(array)


def _check(film: Film) -> None:
    """Raise ValueError where the parts of a film do not fit each other."""
    moments = len(film.steps)
    right = film.steps.ndim == 1 and moments > 0 and film.steps.dtype.kind == "i" and film.steps[0] >= 0
    right = right and bool(film.reels) and (np.diff(film.steps) > 0).all()
    right = right and all(_rises(curve) for curve in (film.losses, film.scores))
    for reel in film.reels:
        source, target = len(reel.source_tokens), len(reel.fed_tokens)
        shapes = {"encoder": (source, source), "decoder": (target, target), "cross": (target, source)}
        right = right and all(_holds(getattr(reel, kind), moments, shape) for kind, shape in shapes.items())
        right = right and reel.decoder.shape[1:3] == reel.cross.shape[1:3] and source * target > 0
        right = right and reel.probabilities.shape == (moments, target) and _are_shares(reel.probabilities)
        right = right and len(reel.next_tokens) == target and len(reel.outputs) == moments
    if not right:
        raise ValueError("its parts do not fit each other")


def _holds(maps: np.ndarray, moments: int, shape: tuple[int, int]) -> bool:
    """Whether these are weights of so many moments, each [layers, heads, *shape]."""
    fits = maps.ndim == 5 and maps.shape[0] == moments and maps.shape[3:] == shape
    return fits and maps.size > 0 and _are_shares(maps)


def _are_shares(values: np.ndarray) -> bool:
    return bool(values.min() >= 0 and values.max() <= 1)


def _rises(curve: np.ndarray) -> bool:
    """Whether these are points [points, 2] in the order of their steps."""
    return curve.ndim == 2 and curve.shape[1] == 2 and bool((np.diff(curve[:, 0]) >= 0).all())
