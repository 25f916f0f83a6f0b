"""The switches of all heads as the plain values that they are drawn from, and heads as an address has them."""

import re
from collections.abc import Iterable

import numpy as np

from headlight.plots.text import KIND_NAMES, two_digits
from transformer.interpret.trace import Trace
from transformer.interpret.what_if.importance import HeadImportance
from transformer.interpret.what_if.intervention import Heads

from .ablation_text import head_words

_HEAD = re.compile(rf"({'|'.join(KIND_NAMES)})\.([0-9]{{1,4}})\.([0-9]{{1,4}})")


def heads_text(heads: Iterable[Heads]) -> str:
    """Heads as an address has them, counted from 1: "cross.3.4-encoder.1.2"."""
    return "-".join(f"{one.kind}.{one.layer + 1}.{one.head + 1}" for one in heads)


def heads_in(text: str, found: HeadImportance) -> list[Heads]:
    """The heads that a text of an address names, each once; what the model has not is left out."""
    named = ((kind, int(layer) - 1, int(head) - 1) for kind, layer, head in _HEAD.findall(text))
    shapes = {kind: found.total(kind).shape for kind in KIND_NAMES}
    there = [
        Heads(*one) for one in named if all(0 <= n < size for n, size in zip(one[1:], shapes[one[0]], strict=True))
    ]
    return list(dict.fromkeys(there))


def telling(found: HeadImportance) -> Heads:
    """The head to begin with: of those that turn the translation, and else of all, the one of the greatest loss."""
    ranked = [heads for heads, _ in found.ranked()]
    turning = [one for one in ranked if found.turned[one.kind][one.layer, one.head]]
    return (turning or ranked)[0]


def switches_payload(found: HeadImportance, trace: Trace) -> dict:
    """What `browser.head_switches` shows, ready for JSON.

    For each kind its name and, layer by layer, of each head: the loss of log P in nats, its digits, whether the
    translation turns without it, and words. limit: the largest loss or gain, for the colours.
    """
    totals = {kind: found.total(kind) for kind in KIND_NAMES}
    return {
        "kinds": [
            {
                "kind": kind,
                "name": name,
                "losses": totals[kind].round(4).tolist(),
                "digits": [[two_digits(loss) for loss in row] for row in totals[kind]],
                "turned": (found.turned[kind] & trace.is_greedy.all()).tolist(),
                "words": [
                    [head_words(found, trace, Heads(kind, layer, head)) for head in range(totals[kind].shape[1])]
                    for layer in range(len(totals[kind]))
                ],
            }
            for kind, name in KIND_NAMES.items()
        ],
        "limit": float(max(np.abs(losses).max() for losses in totals.values())),
    }
