"""Two translations of one sentence token under token: what stayed, what changed, and how probable each token is."""

import html
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher

import numpy as np

from headlight.plots.text import signed
from transformer.interpret.trace import Trace


def compared_html(before: Trace, forced: Trace, after: Trace) -> str:
    """A table: the unchanged translation with log P of its tokens before and after a change, under it the new one.

    forced: the unchanged translation teacher-forced under the change. Tokens that are the same in both stand under one
    another; a new one has a frame. A cell of log P is orange for what the change took, blue for what it gave.
    """
    old, moved, new = (each.log_probabilities for each in (before, forced, after))
    columns = list(aligned(before.next_ids, after.next_ids))
    # A forced token has no cell of log P: nothing was chosen there.
    scored = [[at if at in before.scored_steps else None for at in column] for column in columns]
    limit = max(1.0, float(np.abs(old - moved).max()))
    rows = [
        row_html("unchanged", [token_html(before.next_tokens, place, False) for place, _ in columns]),
        row_html("log P", [number_html(old, place) for place, _ in scored]),
        row_html("log P, changed", [_moved(old, moved, place, limit) for place, _ in scored]),
        row_html(
            "changed",
            [token_html(after.next_tokens, place, other is None) for other, place in _told(columns, before, after)],
        ),
        row_html("log P", [number_html(new, place) for _, place in scored]),
    ]
    return table_html("Both translations token under token, with the log-probability of each token", rows)


def table_html(label: str, rows: Iterable[str]) -> str:
    """Rows of `row_html` as a table; `label` names it for screen readers."""
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return (
        f'<div class="places compared" tabindex="0" role="region" aria-label="{html.escape(label)}">'
        f"<table><tbody>{body}</tbody></table></div>"
    )


def aligned(old: tuple[int, ...], new: tuple[int, ...]) -> Iterator[tuple[int | None, int | None]]:
    """Positions of both side by side: equal tokens in one column, the others side by side as far as they go."""
    for _, begin, end, other_begin, other_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for place in range(max(end - begin, other_end - other_begin)):
            left, right = begin + place, other_begin + place
            yield left if left < end else None, right if right < other_end else None


def _told(columns: list, before: Trace, after: Trace) -> Iterator[tuple[int | None, int | None]]:
    """Each column's new token, with the old one of the same id beside it, None where it is another."""
    for old, new in columns:
        same = old is not None and new is not None and before.next_ids[old] == after.next_ids[new]
        yield (old if same else None), new


def row_html(name: str, cells: Iterable[str]) -> str:
    """A row under its name."""
    return f'<th scope="row">{name}</th>{"".join(cells)}'


def token_html(tokens: Sequence[str], place: int | None, is_new: bool) -> str:
    """The cell of a token, in a frame where it is new; an empty one where there is no place."""
    if place is None:
        return "<td></td>"
    return f'<td class="token{" turned" if is_new else ""}">{html.escape(tokens[place])}</td>'


def number_html(values: np.ndarray, place: int | None) -> str:
    """The cell of a number with two decimals; an empty one where there is no place."""
    return "<td></td>" if place is None else f"<td>{signed(float(values[place]), 2)}</td>"


def _moved(old: np.ndarray, new: np.ndarray, place: int | None, limit: float) -> str:
    if place is None:
        return "<td></td>"
    loss = float(old[place] - new[place])
    name, shade = ("lost" if loss > 0 else "gained"), min(1.0, abs(loss) / limit)
    return f'<td class="{name}" style="--shade: {shade:.3f}">{signed(float(new[place]), 2)}</td>'
