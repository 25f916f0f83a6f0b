"""Sentences on activation patching, and the names of what is patched."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from headlight.plots.text import (
    LEAST_SHOWN,
    chance_words,
    counted,
    kind_head_name,
    kind_words,
    quoted,
    quoted_at,
    signed,
)
from headlight.plots.what_if import HALF
from transformer.interpret.activations import Predictions
from transformer.interpret.what_if.intervention import Heads
from transformer.interpret.what_if.patching import Cell, PatchingMap, Site


@dataclass(frozen=True)
class Patched:
    """Something to patch: its site and part, what a cell of its map is, and what to look for."""

    site: Site
    part: str
    meaning: str
    look_for: str


_SHARED = "whether one head brings the difference or several share it"
PATCHED = {
    "encoder stream": Patched(
        Site.RESIDUAL,
        "encoder",
        "the encoder's residual stream, its one vector of a source token after a layer",
        "the layer after which the difference also stands at other tokens than the one that differs",
    ),
    "decoder stream": Patched(
        Site.RESIDUAL,
        "decoder",
        "the decoder's residual stream, its one vector of an input token after a layer",
        "the layer that reads the difference from the encoder: before it, nothing comes back",
    ),
    "cross-attention": Patched(
        Site.ATTENTION,
        "cross",
        "what the cross-attention of a layer adds to the vector of an input token, all heads together",
        "the layer that brings the difference",
    ),
    "encoder heads": Patched(
        Site.HEAD,
        "encoder",
        "the output of one head of encoder self-attention, at all source tokens",
        _SHARED,
    ),
    "decoder heads": Patched(
        Site.HEAD,
        "decoder",
        "the output of one head of masked decoder self-attention, at all input tokens",
        _SHARED,
    ),
    "cross heads": Patched(
        Site.HEAD,
        "cross",
        "the output of one head of cross-attention, at all input tokens",
        _SHARED,
    ),
}


def cell_words(cell: Cell, columns: Sequence[str]) -> str:
    """A cell in words: "the encoder's vector at “▁dog|▁dogs” after layer 2", "cross-attention layer 3, head 4"."""
    if cell.site == Site.HEAD:
        return kind_head_name(Heads(cell.part, cell.layer, cell.index))
    place = quoted_at(columns, cell.index, "token")
    if cell.site == Site.ATTENTION:
        return f"the {kind_words(cell.part)} of layer {cell.layer + 1} at {place}"
    when = f"after layer {cell.layer}" if cell.layer else "before layer 1"
    return f"the {cell.part}'s vector at {place} {when}"


def share_words(share: float) -> str:
    """A restored share in percent: "79 %", "−3 %"."""
    return f"{signed(100 * share, 0)} %"


def describe_map(found: PatchingMap, columns: Sequence[str], tokens: tuple[str, str]) -> str:
    """Both runs' logit differences, the cell that restores most, and how many cells alone restore over half."""
    clean, corrupted = (signed(value, 2) for value in (found.clean, found.corrupted))
    text = (
        f"The logit of {quoted(tokens[0])} minus that of {quoted(tokens[1])} is {clean} in the clean run and "
        f"{corrupted} in the corrupted run."
    )
    if np.isnan(found.shares).any():
        return f"{text} There is nothing to restore."
    row, column = np.unravel_index(int(found.shares.argmax()), found.shares.shape)
    share, over = float(found.shares[row, column]), int((found.shares > HALF).sum())
    if share < LEAST_SHOWN:
        return f"{text} None of the {found.shares.size} cells restores any of that difference alone."
    best = cell_words(found.cells[row][column], columns)
    text += f" The most comes back with {best}: {share_words(share)}."
    which = f"{counted(over, 'cell')} of {found.shares.size}" if over else f"None of the {found.shares.size} cells"
    return f"{text} {which} alone {'restore' if over > 1 else 'restores'} over half."


def describe_cell(
    found: PatchingMap, row: int, column: int, columns: Sequence[str], seen: Predictions, name: Callable[[int], str]
) -> str:
    """What the corrupted run does with the clean vector of one cell: its logit difference, and its best token."""
    words, share = cell_words(found.cells[row][column], columns), float(found.shares[row, column])
    clean, corrupted, patched = seen.best_ids[:, 0].tolist()
    token = f"{quoted(name(patched))} ({chance_words(float(seen.best_probabilities[2, 0]))})"
    if clean == corrupted:
        whose = "as of both runs" if patched == clean else "which is neither run's"
    else:
        whose = {clean: "the clean run's", corrupted: "still the corrupted run's"}.get(patched, "neither run's")
    text = f"With {words} from the clean run, the most probable token of the corrupted run is {token}, {whose}"
    if np.isnan(share):
        return f"{text}."
    difference = found.corrupted + share * (found.clean - found.corrupted)
    return f"{text}; the logit difference is {signed(difference, 2)}, so {share_words(share)} of it is restored."


def candidate_rows(seen: Predictions, name: Callable[[int], str]) -> list[tuple[str, list[str]]]:
    """For each of the three runs its name, and its best tokens, each over its probability."""
    return [
        (run, [f"{name(id)}\n{chance_words(chance)}" for id, chance in zip(ids, chances, strict=True)])
        for run, ids, chances in zip(
            ("clean", "corrupted", "patched"),
            seen.best_ids.tolist(),
            seen.best_probabilities.tolist(),
            strict=True,
        )
    ]
