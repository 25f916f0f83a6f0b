"""Activation patching in words: what is patched, what a map restores, and what one patched run would have next."""

from collections.abc import Callable, Sequence

import numpy as np

from headlight.plots.text import format_probability, kind_head_name, kind_words, quoted, quoted_at, signed
from transformer.interpret.activations import Predictions
from transformer.interpret.what_if.intervention import Heads
from transformer.interpret.what_if.patching import Cell, PatchingMap, Site
from transformer.model.names import AttentionKind

_SHARED = "whether one head brings the difference or several share it"
# What a cell of each map is, and what to look for.
MEANINGS = {
    "encoder stream": (
        "the encoder's residual stream, its one vector of a source token after a layer",
        "the layer after which the difference also stands at other tokens than the one that differs",
    ),
    "decoder stream": (
        "the decoder's residual stream, its one vector of an input token after a layer",
        "the layer that reads the difference from the encoder: before it, nothing comes back",
    ),
    "cross-attention": (
        "what the cross-attention of a layer adds to the vector of an input token, all heads together",
        "the layer that brings the difference",
    ),
    "encoder heads": ("the output of one head of encoder self-attention, at all source tokens", _SHARED),
    "decoder heads": ("the output of one head of masked decoder self-attention, at all input tokens", _SHARED),
    "cross heads": ("the output of one head of cross-attention, at all input tokens", _SHARED),
}
HALF, PAST = 0.5, 1.05  # shares: from which a cell restores most, and from which it overshoots
_SMALL = 1.0  # logit difference between the runs


def cell_words(cell: Cell, columns: Sequence[str]) -> str:
    """Name a cell: "the encoder's vector at “▁dog|▁dogs” after layer 2", "cross-attention layer 3, head 4"."""
    if cell.site == Site.HEAD:
        return kind_head_name(Heads(AttentionKind(cell.part), cell.layer, cell.index))
    at = quoted_at(columns, cell.index, "token")
    if cell.site == Site.ATTENTION:
        return f"the {kind_words(cell.part)} of layer {cell.layer + 1} at {at}"
    return f"the {cell.part}'s vector at {at} {f'after layer {cell.layer}' if cell.layer else 'before layer 1'}"


def describe_map(found: PatchingMap, columns: Sequence[str], tokens: tuple[str, str]) -> str:
    """Say both runs' logit differences, which cell comes nearest to the clean run, and how many restore over half."""
    text = (
        f"The logit of {quoted(tokens[0])} minus that of {quoted(tokens[1])} is {signed(found.clean, 2)} in the clean "
        f"run and {signed(found.corrupted, 2)} in the corrupted run."
    )
    if np.isnan(found.shares).any():
        return f"{text} There is nothing to restore."
    row, column = np.unravel_index(int(found.nearness.argmax()), found.shares.shape)
    text += (
        f" Nearest to the clean run comes {cell_words(found.cells[row][column], columns)}: "
        f"{_percent(found.shares[row, column])} of the way. Cells that alone restore over half: "
        f"{(found.shares > HALF).sum()} of {found.shares.size}."
    )
    if found.shares.max() > PAST:
        text += f" The largest share, {_percent(found.shares.max())}, is past the clean run."
    if abs(found.clean - found.corrupted) < _SMALL:
        text += " The runs differ little, so a small change is a large share."
    return text


def describe_cell(
    found: PatchingMap, row: int, column: int, columns: Sequence[str], seen: Predictions, name: Callable[[int], str]
) -> str:
    """Say what the corrupted run does with the clean vector of one cell: its best token, and its logit difference."""
    share, (*runs, patched) = float(found.shares[row, column]), seen.best_ids[:, 0].tolist()
    whose = [run for run, id in zip(("clean", "corrupted"), runs, strict=True) if id == patched]
    text = (
        f"With {cell_words(found.cells[row][column], columns)} from the clean run, the most probable token of the "
        f"corrupted run is {quoted(name(patched))} ({format_probability(float(seen.best_probabilities[2, 0]))}), as in "
        f"{'the ' + ' and the '.join(whose) if whose else 'neither'} run."
    )
    if np.isnan(share):
        return text
    difference = found.corrupted + share * (found.clean - found.corrupted)
    return (
        f"{text} The logit difference is {signed(difference, 2)}: {_percent(share)} of the way from the corrupted "
        f"run's {signed(found.corrupted, 2)} to the clean run's {signed(found.clean, 2)}."
    )


def _percent(share: float) -> str:
    return f"{signed(100 * share, 0)} %"


def candidate_rows(seen: Predictions, name: Callable[[int], str]) -> list[tuple[str, list[str]]]:
    """Return for each of the three runs its name, and its best tokens, each over its probability."""
    runs = zip(("clean", "corrupted", "patched"), seen.best_ids.tolist(), seen.best_probabilities.tolist(), strict=True)
    return [
        (run, [f"{name(id)}\n{format_probability(chance)}" for id, chance in zip(ids, chances, strict=True)])
        for run, ids, chances in runs
    ]
