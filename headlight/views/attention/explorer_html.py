"""The explorer of one sentence as a page of its own, which needs no server."""

from collections.abc import Mapping, Sequence

import numpy as np

from headlight.components.standalone import Words, standalone
from transformer.arrays import require_index
from transformer.interpret.head_patterns import most_confident_head
from transformer.interpret.head_roles import HeadRoles
from transformer.interpret.trace import Trace
from transformer.model.names import AttentionKind

from .explorer_payload import explorer_blob
from .explorer_text import OPTIONS

_LOOK_FOR = (
    "Point at a thumbnail and that head's map stands beside it, click to keep it; point at a token or a cell and its "
    "weights are written out. Below the map three heads with a plain pattern in this sentence are named."
)


def explorer_page(
    trace: Trace, checkpoint: str = "", roles: HeadRoles | None = None, choice: Mapping[str, str] | None = None
) -> str:
    """One HTML file with every attention weight of a sentence, exact to four decimals, in the explorer.

    `checkpoint` is its name, `roles` say what its heads do over a corpus, and `choice` is what the explorer begins with
    (see `explorer_choice`): without it the head of the cross-attention with the plainest pattern.
    """
    if choice is None:
        head = roles.most_telling("cross") if roles else most_confident_head(trace.cross, trace.source_tokens)
        choice = explorer_choice(trace, "cross", *head)
    words = Words("Every attention weight of a sentence", trace.source_text, trace.target_text, checkpoint, _LOOK_FOR)
    return standalone("attention_explorer/explorer", explorer_blob(trace, roles), words, choice)


def explorer_choice(
    trace: Trace, kind: AttentionKind | str, layer: int | None, heads: int | Sequence[int] | None
) -> dict[str, str]:
    """What the explorer shows of a kind: some heads of a layer, both counted from 0; None for all there are.

    Raises ValueError for what the trace does not have.
    """
    layers, count, *_ = trace.attention(kind).shape
    shown_layers = range(layers) if layer is None else [layer]
    shown_heads = range(count) if heads is None else np.atleast_1d(heads).tolist()
    if not shown_heads:
        raise ValueError("at least one head expected")
    for name, values, limit in (("layer", shown_layers, layers), ("head", shown_heads, count)):
        for value in values:
            require_index(name, value, limit)
    places = [f"{layer + 1}.{head + 1}" for layer in shown_layers for head in shown_heads]
    usual = {name: options[0] for name, options in OPTIONS.items()}
    return {**usual, "kind": str(AttentionKind(kind)), "heads": "-".join(places), "tokens": ""}
