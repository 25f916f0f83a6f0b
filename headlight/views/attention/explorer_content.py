"""Facts of the explorer: all attention of a sentence with what its heads do; the choice; a page of its own."""

import re
import zlib
from collections.abc import Mapping, Sequence

import numpy as np

from headlight.app.facts import pack_facts, pattern_facts
from headlight.components.standalone import Words, standalone
from headlight.plots.names import KIND_NAMES, ROW_LABELS
from transformer.arrays import require_index
from transformer.corpus import HeadRoles, plainest_head
from transformer.interpret.head_patterns import LEAST_ROWS, THRESHOLDS, Pattern, measure_heads
from transformer.interpret.trace import Trace, keys_of, masked_maps
from transformer.model.names import AttentionKind

KINDS = tuple(KIND_NAMES)

# Weights travel as whole 50,000ths. Where four decimals are rounded lies halfway between two of these, so that four
# decimals of what arrives are those of the weight itself.
STEPS = 50_000

# Choices that the address may name besides heads and tokens, the default first. The browser keeps all others.
OPTIONS = {
    "view": ("map", "lines"),
    "rows": tuple(ROW_LABELS),
    "label": ("all", *Pattern, "none"),
}
DEFAULTS = {name: options[0] for name, options in OPTIONS.items()}
CROSS_FIRST = ("cross", "encoder", "decoder")  # the default kind first

_LOOK_FOR = (
    "Point at a thumbnail and that head's map stands beside it, choose it to keep it; point at a token or a cell and "
    "its weights are written out. Below the map three heads with a plain pattern in this sentence are named."
)


def explorer_blob(trace: Trace, roles: HeadRoles | None = None) -> bytes:
    """Return the facts of a sentence with all its weights; `roles` says what the heads do over a corpus.

    Weights are [layers, heads, queries, keys], STEPS for 1: two bytes each, exact to four decimals.
    """
    maps = {kind: to_steps(trace.attention(kind)) for kind in KINDS}
    return pack_facts(explorer_facts(trace, maps, roles), maps)


def to_steps(weights: np.ndarray) -> np.ndarray:
    """Return weights as they travel: whole parts of which STEPS are 1, uint16."""
    return np.rint(weights.astype(np.float64) * STEPS).astype(np.uint16)


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
        "thresholds": THRESHOLDS,
        "least_rows": LEAST_ROWS,
        "patterns": {kind: patterns(kind) for kind in KINDS},
        "sentences": roles and roles.sentences,
    }


def explorer_page(
    trace: Trace, checkpoint: str = "", roles: HeadRoles | None = None, choice: Mapping[str, str] | None = None
) -> str:
    """Return one HTML file with every attention weight of a sentence, exact to four decimals, in the explorer.

    `checkpoint` is its name, `roles` say what its heads do over a corpus, and `choice` is what the explorer begins with
    (see `explorer_choice`), by default the head of the cross-attention with the plainest pattern.
    """
    if choice is None:
        head = plainest_head(trace, "cross", roles)
        choice = explorer_choice(trace, "cross", *head)
    words = Words("Every attention weight of a sentence", trace.source_text, trace.target_text, checkpoint, _LOOK_FOR)
    return standalone("attention_explorer/explorer", explorer_blob(trace, roles), words, choice)


def explorer_choice(
    trace: Trace, kind: AttentionKind | str, layer: int | None, heads: int | Sequence[int] | None
) -> dict[str, str]:
    """Return the choice that shows some heads of a layer of a kind, both counted from 0; None for all there are.

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
    written = "-".join(f"{layer + 1}.{head + 1}" for layer in shown_layers for head in shown_heads)
    return {**DEFAULTS, "kind": str(AttentionKind(kind)), "heads": written, "tokens": ""}


def addressed_choice(trace: Trace, address: Mapping[str, str], best: str) -> dict[str, str]:
    """Return the choice that an address asks for; invalid parts fall back, the heads to `best`, such as "1.1"."""
    kind = one_of(address.get("kind"), CROSS_FIRST)
    single, tokens = f"{address.get('layer')}.{address.get('head')}", address.get("tokens", "")
    named = single if are_heads(single, trace, kind) else best
    several = address.get("heads", "")
    return {
        **{name: one_of(address.get(name), options) for name, options in OPTIONS.items()},
        "kind": kind,
        "heads": several if are_heads(several, trace, kind) and several.split("-")[0] == named else named,
        "tokens": tokens if are_tokens(tokens, trace, kind) else "",
    }


def heads_in(written: str) -> list[tuple[int, int]]:
    """Return layers and heads, counted from 0, of a text such as "1.1-3.2"."""
    return [(int(layer) - 1, int(head) - 1) for layer, head in (each.split(".") for each in written.split("-"))]


def are_heads(written: str, trace: Trace, kind: str) -> bool:
    """Return whether a text names heads, such as "1.1-3.2", that a kind of attention has."""
    number = r"[1-9][0-9]{0,2}"
    if not re.fullmatch(rf"{number}\.{number}(-{number}\.{number})*", written):
        return False
    layers, heads, *_ = trace.attention(kind).shape
    return all(layer < layers and head < heads for layer, head in heads_in(written))


def are_tokens(written: str, trace: Trace, kind: str) -> bool:
    """Return whether a text names queries or keys, such as "q2" or "k1-4", that a kind of attention has."""
    if not re.fullmatch(r"[qk][1-9][0-9]{0,2}(-[1-9][0-9]{0,2})*", written):
        return False
    *_, queries, keys = trace.attention(kind).shape
    return all(int(number) <= (queries if written[0] == "q" else keys) for number in written[1:].split("-"))


def one_of(value: str | None, options: tuple[str, ...]) -> str:
    """Return a value that is one of the options, else the first of them."""
    return value if value in options else options[0]
