"""Facts of the explorer: all attention of a sentence with the patterns of its heads; its page as a file."""

import zlib
from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from headlight.app.facts import STEPS, pack_facts, pattern_facts, pattern_words, to_steps
from headlight.app.finding import Templates
from headlight.app.selection import ROW_LABELS, Selection
from headlight.components.standalone import Words, standalone
from headlight.plots.names import KINDS
from transformer.arrays import require_index
from transformer.corpus import HeadRoles, plainest_head
from transformer.interpret.content import MOST_WITHOUT_CONTENT
from transformer.interpret.head_patterns import LEAST_ROWS, Pattern, measure_heads
from transformer.interpret.trace import Trace, keys_of, masked_maps
from transformer.model.heads import Head
from transformer.model.names import AttentionKind

# Choices that the address may name besides the selection, the default first. The browser keeps all others.
OPTIONS = {
    "view": ("map", "lines"),
    "rows": tuple(ROW_LABELS),
    "label": ("all", *Pattern, "none"),
}
DEFAULTS = {name: options[0] for name, options in OPTIONS.items()}
CROSS_FIRST = ("cross", "encoder", "decoder")  # the default kind first
TEMPLATES = Templates.beside(__file__)


def explorer_blob(trace: Trace, roles: HeadRoles | None = None) -> bytes:
    """Return the facts of a sentence with all its weights; `roles` are the labels of the heads over a corpus.

    Weights are [layers, heads, queries, keys], STEPS for 1: two bytes each, exact to four decimals.
    """
    maps = {kind: to_steps(trace.attention(kind)) for kind in KINDS}
    return pack_facts(explorer_facts(trace, maps, roles), maps)


def describe_sinks(trace: Trace) -> str:
    """Return the caption on cross-attention to keys without content, where it is most of the weight; else ""."""
    share = trace.special_share().mean(AttentionKind.CROSS)
    return "" if share <= MOST_WITHOUT_CONTENT else TEMPLATES.text("sinks", share=share)


def explorer_facts(trace: Trace, maps: Mapping[str, np.ndarray], roles: HeadRoles | None) -> dict:
    """Return the facts besides the weights, which `id` identifies: tokens, and the patterns of all heads."""

    def patterns(kind: str) -> dict:
        measured = measure_heads(kind, masked_maps(trace, kind), keys_of(trace, kind), trace.target_tokens)
        return pattern_facts(measured, roles)

    return {
        "id": f"{zlib.crc32(b''.join(part.tobytes() for part in maps.values())):08x}",
        "steps": STEPS,
        "source_tokens": trace.source_tokens,
        "decoder_input_tokens": trace.decoder_input_tokens,
        "target_tokens": trace.target_tokens,
        "least_rows": LEAST_ROWS,
        "pattern_words": pattern_words(),
        "patterns": {kind: patterns(kind) for kind in KINDS},
        "sentences": roles and roles.sentences,
    }


def explorer_page(
    trace: Trace,
    checkpoint: str = "",
    roles: HeadRoles | None = None,
    selection: Selection | None = None,
    options: Mapping[str, str] = DEFAULTS,
) -> str:
    """Return one HTML file with every attention weight of a sentence, exact to four decimals, in the explorer.

    `checkpoint` is its name, `roles` are the labels of its heads over a corpus. The explorer begins with `options` and
    `selection`, by default the head of the cross-attention with the plainest pattern.
    """
    if selection is None:
        selection = Selection((plainest_head(trace, "cross", roles),))
    title, look_for = TEMPLATES.text("title"), TEMPLATES.text("look_for")
    words = Words(title, trace.source_text, trace.target_text, checkpoint, look_for)
    choice = {**selection.address, **options}
    return standalone("attention_explorer/explorer", explorer_blob(trace, roles), words, choice)


def select_heads(
    trace: Trace, kind: AttentionKind | str, layer: int | None, heads: int | Sequence[int] | None
) -> Selection:
    """Select some heads of a layer of a kind, both counted from 0; None for all there are.

    Raises ValueError for what the trace does not have.
    """
    layers, count, *_ = trace.attention(kind).shape
    selected_layers = range(layers) if layer is None else [layer]
    selected_heads = range(count) if heads is None else np.atleast_1d(heads).tolist()
    if not selected_heads:
        raise ValueError("at least one head expected")
    for name, values, limit in (("layer", selected_layers, layers), ("head", selected_heads, count)):
        for value in values:
            require_index(name, value, limit)
    return Selection(tuple(Head(AttentionKind(kind), *each) for each in product(selected_layers, selected_heads)))
