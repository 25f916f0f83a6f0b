"""What is rewritten, as the address has it and as the run takes it, and the plain values of the bars."""

import re
from dataclasses import dataclass

import numpy as np

from transformer.interpret.head_patterns import is_word
from transformer.interpret.trace import Trace
from transformer.interpret.what_if.intervention import (
    EVERY_ROW,
    Focus,
    Forbid,
    Given,
    Heads,
    Intervention,
    Rows,
    Shift,
    Uniform,
)
from transformer.model.names import Name

_WEIGHTS = re.compile(r"[01](?:\.[0-9]{1,4})?(?:-[01](?:\.[0-9]{1,4})?)*")


class Action(Name):
    """What is done to the weights."""

    FORBID = "forbid a token"
    FOCUS = "all on one token"
    SHIFT = "shift by one"
    UNIFORM = "uniform"
    BY_HAND = "by hand"


class Scope(Name):
    """Whose weights: the chosen head's, those of all heads of its layer, or of all heads of its kind."""

    KIND = "all heads of the kind"
    LAYER = "all heads of the layer"
    HEAD = "this head alone"


class Concerned(Name):
    """In which rows: a decoder's row is a step of the decoding, an encoder's a token of the source."""

    EVERY = "every row"
    ON = "from this row on"
    ONE = "this row alone"


@dataclass(frozen=True)
class Rewriting:
    """A change of attention weights; layer, head, row and key count from 0. weights: by hand, None for no change yet.

    `str` is the text that a run is asked for by, "" where nothing is changed.
    """

    kind: str
    layer: int
    head: int
    scope: Scope
    action: Action
    concerned: Concerned
    row: int
    key: int
    weights: tuple[float, ...] | None

    @property
    def heads(self) -> Heads:
        """The heads whose weights are rewritten."""
        if self.scope == Scope.HEAD:
            return Heads(self.kind, self.layer, self.head)
        return Heads(self.kind, self.layer if self.scope == Scope.LAYER else None)

    @property
    def rows(self) -> Rows:
        """The rows that are rewritten."""
        if self.concerned == Concerned.EVERY:
            return EVERY_ROW
        return Rows(self.row, self.row if self.concerned == Concerned.ONE else None)

    @property
    def intervention(self) -> Intervention | None:
        """The change, None where none is asked for."""
        match self.action:
            case Action.FORBID:
                return Forbid.of(self.heads, key=self.key, rows=self.rows)
            case Action.FOCUS:
                return Focus.of(self.heads, key=self.key, rows=self.rows)
            case Action.SHIFT:
                return Shift.of(self.heads, rows=self.rows)
            case Action.UNIFORM:
                return Uniform.of(self.heads, rows=self.rows)
        return Given.of(self.heads, weights=self.weights, rows=self.rows) if self.weights else None

    @property
    def has_key(self) -> bool:
        """Whether the change is about one key."""
        return self.action in (Action.FORBID, Action.FOCUS)

    def __str__(self) -> str:
        return str(self.intervention or "")

    def step_shown(self, before: Trace, forced: Trace) -> int:
        """The step whose candidates tell most: the chosen row, for the encoder the one where most probability moves."""
        if self.kind != "encoder":
            return self.row
        moved = np.abs(np.subtract(before.next_probabilities, forced.next_probabilities))
        return max(before.scored_steps, key=lambda step: moved[step])


def telling_place(trace: Trace, head: tuple[str, int, int]) -> tuple[int, int]:
    """A row and a key to begin with: of the words, the largest weight of a head, its own token left out."""
    kind, layer, number = head
    weights = np.array(trace.attention(kind)[layer, number], dtype=np.float64)
    keys = trace.fed_tokens if kind == "decoder" else trace.source_tokens
    weights[:, [not is_word(token) for token in keys]] = -1.0
    if kind != "cross":
        np.fill_diagonal(weights, -1.0)
    row, key = np.unravel_index(weights.argmax(), weights.shape)
    return int(row), int(key)


def weights_in(text: str, keys: int) -> tuple[float, ...] | None:
    """Weights that a text of an address names, "0.5-0.25-0.25", one a key; None where it does not."""
    if len(text) > 10_000 or not _WEIGHTS.fullmatch(text):
        return None
    weights = tuple(map(float, text.split("-")))
    return weights if len(weights) == keys and sum(weights) > 0 else None


def bars_payload(rewriting: Rewriting, before: Trace, forced: Trace) -> dict:
    """What `browser.weight_bars` shows, ready for JSON: the keys of the chosen row, with weights before and after."""
    place = rewriting.layer, rewriting.head, rewriting.row
    old, new = (trace.attention(rewriting.kind)[place] for trace in (before, forced))
    tokens = before.fed_tokens if rewriting.kind == "decoder" else before.source_tokens
    keys = rewriting.row + 1 if rewriting.kind == "decoder" else len(tokens)
    return {
        "tokens": list(tokens[:keys]),
        "before": [round(float(weight), 4) for weight in old[:keys]],
        "after": [round(float(weight), 4) for weight in new[:keys]],
        "key": rewriting.key if rewriting.has_key else -1,
        "title": row_name(rewriting, before),
    }


def row_name(rewriting: Rewriting, trace: Trace) -> str:
    """The row whose weights are shown: "step 3, which reads “▁er”" or "row “dog”"."""
    if rewriting.kind == "encoder":
        return f"the row of “{trace.source_tokens[rewriting.row]}”"
    return f"step {rewriting.row + 1}, input token “{trace.fed_tokens[rewriting.row]}”"
