"""The Transformer by hand with something changed: words hidden, heads off, equal weights; and what it then writes."""

from collections.abc import Callable
from functools import cache

import numpy as np
from support.by_hand import ByHand
from support.pages import ROOT

from headlight.lessons.answer import Run

Change = Callable[[str, int, np.ndarray], np.ndarray]  # kind, layer, and what the pass would go on with
MOST = 60  # tokens


class ChangedByHand(ByHand):
    """A pass under a change, which is asked for each part: "cross" for weights, "cross.heads" for heads' outputs."""

    change: Change | None = None

    def changed(self, part: str, layer: int, x: np.ndarray) -> np.ndarray:
        return x if self.change is None else self.change(part, layer, x)


@cache
def by_hand(checkpoint: str) -> ChangedByHand:
    return ChangedByHand(ROOT / "checkpoints" / checkpoint)


def log_probabilities(run: Run, ids: list[int] | tuple[int, ...], change: Change | None = None) -> np.ndarray:
    """log P of every token at each step of a target that is fed: [target, vocab]."""
    model = by_hand(run.request.checkpoint.name)
    model.change = change
    begin = run.translator.tokenizer.begin_id
    logits = model.run(run.trace.source_ids, (begin, *ids[:-1]))
    return (
        logits
        - np.log(np.exp(logits - logits.max(1, keepdims=True)).sum(1, keepdims=True))
        - logits.max(1, keepdims=True)
    )


def chosen(run: Run, log_p: np.ndarray) -> np.ndarray:
    """The tokens that greedy decoding takes: [target]."""
    log_p = log_p.copy()
    log_p[:, list(run.translator.model.config.never_chosen)] = -np.inf
    return np.asarray(log_p.argmax(axis=1))


def stays(run: Run, change: Change) -> bool:
    """Whether greedy decoding writes the run's own translation under a change, too."""
    ids = run.trace.target_ids
    return bool((chosen(run, log_probabilities(run, ids, change)) == ids).all())


def written(run: Run, change: Change) -> str:
    """What greedy decoding writes under a change."""
    ids: list[int] = []
    while len(ids) < MOST and run.translator.tokenizer.end_id not in ids:
        ids.append(int(chosen(run, log_probabilities(run, [*ids, 0], change))[-1]))
    return run.translator.tokenizer.decode(ids)


def loss_under(run: Run, change: Change) -> float:
    """What the run's own translation loses of its log P under a change, in nats."""
    ids, steps = list(run.trace.target_ids), np.arange(len(run.trace.target_ids))
    before, after = (log_probabilities(run, ids, each)[steps, ids].sum() for each in (None, change))
    return float(before - after)


def hiding(positions: list[int], kinds: tuple[str, ...] = ("cross",)) -> Change:
    """No row of these kinds may read these positions; each other row of the hidden ones' own goes on as it can."""

    def change(part: str, layer: int, x: np.ndarray) -> np.ndarray:
        if part not in kinds:
            return x
        left = x.copy()
        left[..., positions] = 0
        return left / left.sum(axis=-1, keepdims=True)

    return change


def hiding_earlier(position: int) -> Change:
    """No later row of the decoder may read this position; its own row may."""

    def change(part: str, layer: int, x: np.ndarray) -> np.ndarray:
        if part != "decoder":
            return x
        left = x.copy()
        left[:, position + 1 :, position] = 0
        return left / left.sum(axis=-1, keepdims=True)

    return change


def without_heads(*heads: tuple[str, int, int]) -> Change:
    """Nothing comes out of these heads: kind, layer and head each, from 0."""

    def change(part: str, layer: int, x: np.ndarray) -> np.ndarray:
        off = [head for kind, at, head in heads if (f"{kind}.heads", at) == (part, layer)]
        left = x.copy()
        left[off] = 0
        return left

    return change


def evened(layer: int, head: int | None = None) -> Change:
    """All weights of a head of cross-attention, or of all heads of a layer, are equal."""

    def change(part: str, at: int, x: np.ndarray) -> np.ndarray:
        if (part, at) != ("cross", layer):
            return x
        left = x.copy()
        left[slice(None) if head is None else head] = 1 / x.shape[-1]
        return left

    return change
