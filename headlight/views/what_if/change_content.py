"""What became of a translation under a change: in words, and both translations token under token."""

import html
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher

import numpy as np

from headlight.plots.text import LEAST_SHOWN, quoted_at, signed
from transformer.interpret.trace import Trace

Column = tuple[int | None, int | None]  # positions in two translations, None where one has no token


def outcome_words(before: Trace, forced: Trace, after: Trace) -> str:
    """Say whether the translation is another and how log P moved, after a condition such as "Without this head".

    forced: the unchanged translation teacher-forced under the change.
    """
    same = before.target_ids == after.target_ids
    old, new = (signed(trace.log_probability, 2) for trace in (before, forced))
    losses = before.log_probabilities - forced.log_probabilities
    text = (
        f"the model finds {'the same' if same else 'another'} translation. log P of the unchanged one "
        f"{moved_words(losses, before)}, from {old} to {new}."
    )
    return text if same else f"{text} The new one has log P {signed(after.log_probability, 2)} under this change."


def moved_words(losses: np.ndarray, trace: Trace) -> str:
    """Say how log P changed and which tokens lost and gained most: "changes by −1.08 nats, most at “▁er” (−1.20)"."""
    moved = [(int(losses.argmax()), losses.max()), (int(losses.argmin()), -losses.min())]
    named = [
        f"{quoted_at(trace.target_tokens, at, 'output token')} ({_with_sign(-losses[at])})"
        for at, size in moved
        if size >= LEAST_SHOWN
    ]
    return f"changes by {_with_sign(-losses.sum())} nats" + (f", most at {' and '.join(named)}" if named else "")


def _with_sign(value: float) -> str:
    text = signed(float(value), 2)
    return text if text.startswith("−") or text == "0.00" else f"+{text}"


def compared_html(before: Trace, forced: Trace, after: Trace) -> str:
    """Return a table: the unchanged translation with log P of its tokens before and after, and under it the new one.

    forced: the unchanged translation teacher-forced under the change. Equal tokens stand under one another; a new one
    has a frame, a forced one no log P. A cell of log P is orange for what the change took, blue for what it gave.
    """
    old, moved, new = (each.log_probabilities for each in (before, forced, after))
    columns = list(aligned(before.target_ids, after.target_ids))
    scored = [tuple(at if at in before.scored_steps else None for at in column) for column in columns]
    limit = max(1.0, float(np.abs(old - moved).max()))

    def is_new(left: int | None, right: int | None) -> bool:
        return left is None or right is None or before.target_ids[left] != after.target_ids[right]

    def changed(at: int) -> str:
        loss = float(old[at] - moved[at])
        return number_html(moved, at, "lost" if loss > 0 else "gained", min(1.0, abs(loss) / limit))

    rows = {
        "unchanged": [token_html(before.target_tokens, left) for left, _ in columns],
        "log P": [number_html(old, left) for left, _ in scored],
        "log P, changed": [EMPTY if left is None else changed(left) for left, _ in scored],
        "changed": [token_html(after.target_tokens, right, framed=is_new(left, right)) for left, right in columns],
        "log P, new": [number_html(new, right) for _, right in scored],
    }
    return table_html("Both translations token under token, with the log-probability of each token", rows.items())


EMPTY = "<td></td>"


def aligned(old: tuple[int, ...], new: tuple[int, ...]) -> Iterator[Column]:
    """Yield positions of both side by side: equal tokens in one column, the others side by side as far as they go."""
    for _, begin, end, other_begin, other_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for at in range(max(end - begin, other_end - other_begin)):
            left, right = begin + at, other_begin + at
            yield left if left < end else None, right if right < other_end else None


def table_html(label: str, rows: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Return a table of rows of cells under their names; `label` names it for screen readers."""
    body = "".join(f'<tr><th scope="row">{name}</th>{"".join(cells)}</tr>' for name, cells in rows)
    return (
        f'<div class="places compared" tabindex="0" role="region" aria-label="{html.escape(label)}">'
        f"<table><tbody>{body}</tbody></table></div>"
    )


def token_html(tokens: Sequence[str], at: int | None, *, framed: bool = False) -> str:
    """Return the cell of a token; an empty one where there is none."""
    if at is None:
        return EMPTY
    return f'<td class="token{" turned" if framed else ""}">{html.escape(tokens[at])}</td>'


def number_html(values: np.ndarray, at: int | None, name: str = "", shade: float = 0.0) -> str:
    """Return the cell of a number with two decimals, shaded from 0 to 1; an empty one where there is none."""
    if at is None:
        return EMPTY
    style = f' class="{name}" style="--shade: {shade:.3f}"' if name else ""
    return f"<td{style}>{signed(float(values[at]), 2)}</td>"
