"""How sharply every head of a film looks, moment by moment: the mean of its row maxima (see `measures`)."""

from dataclasses import dataclass

import numpy as np

from transformer.film import Film, Reel


@dataclass(frozen=True, eq=False)
class Focus:
    """Row maxima of all heads of a kind in one reel, mean over the rows that have a choice.

    steps: [moments]; values: [moments, layers, heads], from 0 to 1, NaN where no row has a choice; `even` is what a
    head would have that spreads every row evenly.
    """

    steps: np.ndarray
    values: np.ndarray
    even: float

    @property
    def known(self) -> bool:
        """Whether any row has more than one key to read."""
        return bool(np.isfinite(self.even))

    def changes(self) -> np.ndarray:
        """Difference of each moment to the one before it: [moments - 1, layers, heads]."""
        return np.diff(self.values, axis=0)

    def most_changed(self) -> tuple[int, int]:
        """The head, counted from 0, whose value differs most between the first moment and the last."""
        difference = np.abs(self.values[-1] - self.values[0])
        layer, head = np.unravel_index(difference.argmax(), difference.shape)
        return int(layer), int(head)


def film_maps(reel: Reel, kind: str) -> np.ndarray:
    """All maps of a kind, [moments, layers, heads, queries, keys], cells that the causal mask closes as NaN."""
    maps = getattr(reel, kind)
    return np.where(np.tri(maps.shape[-1], dtype=bool), maps, np.nan) if kind == "decoder" else maps


def focus_of(film: Film, reel: Reel, kind: str) -> Focus:
    """The focus of every head of a kind at every moment."""
    maps = film_maps(reel, kind)
    open_keys = (~np.isnan(maps[0, 0, 0])).sum(axis=-1)
    rows = open_keys > 1
    if not rows.any():
        return Focus(film.steps, np.full(maps.shape[:3], np.nan), float("nan"))
    values = np.nanmax(maps[..., rows, :], axis=-1).mean(axis=-1)
    return Focus(film.steps, values, float((1 / open_keys[rows]).mean()))
