"""What became of a translation under a change: in words, and both translations token under token."""

import html
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher

import numpy as np

from headlight.app.finding import Finding
from headlight.plots.numbers import LEAST_SHOWN, format_distinct, signed
from headlight.plots.tokens import quoted_at, shown_tokens
from transformer.interpret.trace import Trace

Column = tuple[int | None, int | None]  # positions in two translations, None where one has no token
_ALIKE_LIKELY = 1.05  # times: less is no other likelihood in words
_MOST_NATS = 20.0  # of which more is not told apart
_ALIKE = 0.5  # of a row's weight on the same source tokens: with less, tokens do not stand under one another


def describe_outcome(change: str, before: Trace, forced: Trace, after: Trace) -> Finding:
    """Say whether the translation is another under a change, such as "Without this head", and how log P moved.

    forced: the unchanged translation teacher-forced under the change.
    """
    losses = before.log_probabilities - forced.log_probabilities
    same, moved = before.target_ids == after.target_ids, abs(losses.sum()) >= LEAST_SHOWN
    outcome = "The translation stays the same," if same else "Another translation; the old one is now"
    old, new = format_distinct(before.log_probability, forced.log_probability)
    way = f"goes from {old} to {new}" if moved else f"stays at {signed(before.log_probability, 2)}"
    end = "" if same else f" The new one has log P {signed(after.log_probability, 2)} under the same change."
    more = f"{change}, log P of the old translation {moved_words(losses)}: it {way}{share_words(losses, before)}.{end}"
    return Finding(f"{outcome} {likelihood_words(losses)}.", more)


def likelihood_words(losses: np.ndarray) -> str:
    """Say how many times less likely a translation became, given what each token lost: "270 times less likely"."""
    times = math.exp(min(abs(float(losses.sum())), _MOST_NATS))
    if times < _ALIKE_LIKELY:
        return "about as likely as before"
    digits = f"{times:.1f}" if times < 10 else f"{float(f'{times:.2g}'):,.0f}" if times < 10_000 else "over 10,000"
    return f"{digits} times {'less' if losses.sum() > 0 else 'more'} likely"


def moved_words(losses: np.ndarray) -> str:
    """Say how log P of a translation moved, given what each token lost: "falls by 1.08 nats", "stays as it is"."""
    total = float(losses.sum())
    if abs(total) < LEAST_SHOWN:
        return "stays as it is"
    return f"{'falls' if total > 0 else 'rises'} by {abs(total):.2f} nats"


def share_words(losses: np.ndarray, trace: Trace) -> str:
    """Say which token moved most the way that the whole did, and how far all others did: both make up the whole.

    Of a whole that stays it is the token that moved most either way; "" where no token moved by what two digits show.
    """
    total = float(losses.sum())
    toward = np.abs(losses) if abs(total) < LEAST_SHOWN else losses * np.sign(total)
    at = int(toward.argmax())
    if toward[at] < LEAST_SHOWN:
        return ""
    most, rest = float(losses[at]), total - float(losses[at])
    text = f": {quoted_at(trace.target_tokens, at, 'output token')} {_does(most)}s most, {abs(most):.2f} nats"
    if signed(most, 2) == signed(total, 2):
        return text
    return f"{text}, and all others together {_does(rest)} {format_distinct(abs(rest), 0.0)[0]}"


def _does(loss: float) -> str:
    return "lose" if loss > 0 else "gain"


def compared_html(before: Trace, forced: Trace, after: Trace) -> str:
    """Return a table: the unchanged translation with log P of its tokens before and after, and under it the new one.

    forced: the unchanged translation teacher-forced under the change. Equal tokens stand under one another; a new one
    has a frame, a forced one no log P. A cell of log P is brown for what the change took, teal for what it gave. A row
    that reads as one above it is left out.
    """
    old, moved, new = (each.log_probabilities for each in (before, forced, after))
    columns = list(aligned(before, after))
    lefts, rights = zip(*columns, strict=True)
    scored_before, scored_after = only_scored(before, lefts), only_scored(after, rights)
    limit = max(1.0, float(np.abs(old - moved).max()))

    def is_new(left: int | None, right: int | None) -> bool:
        return left is None or right is None or before.target_ids[left] != after.target_ids[right]

    def changed(at: int) -> str:
        loss = float(old[at] - moved[at])
        return number_html(moved, at, "lost" if loss > 0 else "gained", min(1.0, abs(loss) / limit))

    rows = {
        "unchanged": [token_html(before.target_tokens, left) for left, _ in columns],
        "log P": [number_html(old, left) for left in scored_before],
        "log P, changed": [EMPTY if left is None else changed(left) for left in scored_before],
        "changed": [token_html(after.target_tokens, right, framed=is_new(left, right)) for left, right in columns],
        "log P, new": [number_html(new, right) for right in scored_after],
    }
    by_text = {tuple(re.sub("<td[^>]*>", "", cell) for cell in rows[name]): name for name in reversed(rows)}
    told = [(name, cells) for name, cells in rows.items() if name in by_text.values()]
    return table_html("Both translations token under token, with the log-probability of each token", told)


EMPTY = "<td></td>"


def only_scored(trace: Trace, positions: Iterable[int | None]) -> list[int | None]:
    """Return a translation's positions in the columns of a table, None for a token that was forced: it has no log P."""
    return [at if at in trace.scored_steps else None for at in positions]


def aligned(old: Trace, new: Trace) -> Iterator[Column]:
    """Yield positions of two translations of a sentence side by side: equal tokens in one column, of the others those
    that read the source alike, all cross-attention heads together.
    """
    one, other = (trace.cross.mean(axis=(0, 1), dtype=np.float64) for trace in (old, new))
    matcher = SequenceMatcher(None, old.target_ids, new.target_ids, autojunk=False)
    for tag, begin, end, other_begin, other_end in matcher.get_opcodes():
        if tag == "equal":
            yield from zip(range(begin, end), range(other_begin, other_end), strict=True)
        else:
            rights = other[other_begin:other_end]
            common = [np.minimum(row, rights).sum(axis=-1) for row in one[begin:end]]  # weight on the same tokens
            for left, right in _best_match(np.reshape(common, (end - begin, len(rights))) - _ALIKE):
                yield None if left is None else begin + left, None if right is None else other_begin + right


def _best_match(gains: np.ndarray) -> Iterator[Column]:
    """Yield rows and columns in their order, paired so that the gains of the pairs sum to most (Needleman-Wunsch)."""
    rows, columns = gains.shape
    best = np.zeros((rows + 1, columns + 1))  # from each cell on
    for row, column in reversed(list(np.ndindex(rows, columns))):
        paired = best[row + 1, column + 1] + gains[row, column]
        best[row, column] = max(best[row + 1, column], best[row, column + 1], paired)
    row = column = 0
    while row < rows or column < columns:
        left, right = row < rows, column < columns
        if left and right and best[row, column] > max(best[row + 1, column], best[row, column + 1]):
            yield row, column
            row, column = row + 1, column + 1
        elif left and best[row, column] == best[row + 1, column]:
            yield row, None
            row += 1
        else:
            yield None, column
            column += 1


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
    css = f"token{' turned' if framed else ''}"
    return f'<td class="{css}" title="{html.escape(tokens[at])}">{html.escape(shown_tokens(tokens)[at])}</td>'


def number_html(values: np.ndarray, at: int | None, name: str = "", shade: float = 0.0) -> str:
    """Return the cell of a number with two decimals, shaded from 0 to 1; an empty one where there is none."""
    if at is None:
        return EMPTY
    style = f' class="{name}" style="--shade: {shade:.3f}"' if name else ""
    return f"<td{style}>{signed(float(values[at]), 2)}</td>"
