"""Payload of the explorer: all attention of a sentence as one blob of bytes, its texts, its choice, its own page."""

import json
import re
import zlib
from collections.abc import Mapping, Sequence

import numpy as np

from headlight.components.standalone import Words, standalone
from headlight.plots.names import KIND_NAMES, PATTERN_WORDS, ROW_LABELS, head_name, pattern_words, sentence_case
from headlight.plots.numbers import percent
from transformer.arrays import require_index
from transformer.corpus.head_roles import HeadRoles, plainest_head
from transformer.data.tokenizer import SPACE
from transformer.interpret.head_patterns import (
    THRESHOLDS,
    HeadMeasures,
    Pattern,
    is_punctuation,
    measure_head,
    measure_heads,
    representative_heads,
)
from transformer.interpret.trace import SPECIAL_TOKENS, AttentionMap, Trace, keys_of, masked_maps
from transformer.model.names import AttentionKind

KINDS = tuple(KIND_NAMES)
WITHIN_WORDS = frozenset("-'’")  # punctuation that may stand in the middle of a word

# Weights travel as whole 50,000ths. Where four decimals are rounded lies halfway between two of these, so that four
# decimals of what arrives are those of the weight itself.
STEPS = 50_000

_ROWS = "A row is a query, a column is a key; a row's weights sum to 1."
_KIND_TEXTS = {
    "encoder": f"Encoder self-attention: every source token attends to every source token. {_ROWS}",
    "decoder": "Masked decoder self-attention: each row is one step of the decoder, which attends to its input token "
    f"and all earlier ones; later tokens are masked and stay blank. {_ROWS}",
    "cross": "Cross-attention: each row is one step of the decoder, which attends to the whole source sentence. "
    f"{_ROWS}",
}

# label -> short enough for a thumbnail, a word a line; where a head with this label has the largest weight of a row
_SHORT = ("prev.", "same", "next", "mirror", "end", "start", "punct.", "aligns", "aligns input")
PATTERNS = {pattern: (short, PATTERN_WORDS[pattern]) for pattern, short in zip(Pattern, _SHORT, strict=True)}

# measure -> its meaning, its unit, and whether a filter asks for at least or at most
MEASURES: dict[str, tuple[str, str, str]] = {
    "confidence": ("mean of the rows' largest weights, the end of sentence left out", "", "at least"),
    "entropy": ("mean entropy of the rows", "nats", "at most"),
    **{name: (f"rows with their largest weight {words}", "%", "at least") for name, (_, words) in PATTERNS.items()},
}

# Choices that the address may name besides heads and tokens, the default first. The browser keeps all others.
OPTIONS = {
    "view": ("map", "lines"),
    "rows": tuple(ROW_LABELS),
    "label": ("all", *PATTERNS, "none"),
}
DEFAULTS = {name: options[0] for name, options in OPTIONS.items()}
CROSS_FIRST = ("cross", "encoder", "decoder")  # the default kind first

_LOOK_FOR = (
    "Point at a thumbnail and that head's map stands beside it, choose it to keep it; point at a token or a cell and "
    "its weights are written out. Below the map three heads with a plain pattern in this sentence are named."
)


EXPLORER_TEXTS = {  # the same for every sentence
    "kinds": KIND_NAMES,
    "told": _KIND_TEXTS,
    "patterns": PATTERNS,
    "measures": MEASURES,
}


def look_words(head: HeadMeasures, roles: HeadRoles | None = None, name: str = "") -> str:
    """Return a sentence on one head, or on an average of heads under its `name`: its label with threshold and rows, how
    often it has the label over a corpus, and how sharp its rows are.
    """
    name = sentence_case(name) or f"Layer {head.layer + 1}, head {head.head + 1}"
    sharp = f"a row's largest weight, the end of sentence aside, is {head.confidence:.2f} on average"
    if head.label is None:
        return f"{name} has no clear pattern; {sharp}."
    often = role_words(head, roles)
    labelled = f"{name}, labelled {head.label} (from {percent(THRESHOLDS[head.label])} on)"
    return f"{labelled}: {pattern_words(head, head.label)}{f' ({often})' if often else ''}; {sharp}."


def describe_map(shown: AttentionMap) -> str:
    """Return `look_words` for a map that may be an average."""
    name = head_name(shown.layer, shown.head, shown.layers, shown.heads)
    return look_words(measure_head(shown.kind, shown.weights, shown.keys), name=name)


def role_words(head: HeadMeasures, roles: HeadRoles | None) -> str:
    """Return how often a head has its label, "it has this label in 87 % of 400 sentence pairs, their references fed";
    "" where that is unknown.
    """
    if roles is None or head.label is None:
        return ""
    share = roles.share(head.kind, head.layer, head.head, head.label)
    return f"it has this label in {percent(share)} of {roles.sentences:,} sentence pairs, their references fed"


def explorer_blob(trace: Trace, roles: HeadRoles | None = None) -> bytes:
    """Return everything that the explorer draws of a sentence; `roles` says what the heads do over a corpus.

    Four bytes with the header's length (little-endian), the header padded with blanks to a multiple of two, then for
    each of KINDS the weights [layers, heads, queries, keys] in uint16, STEPS for 1: two bytes a weight, exact to four
    decimals. A kind's `offset` counts weights.
    """
    maps = [trace.attention(kind) for kind in KINDS]
    weights = b"".join(to_steps(part).tobytes() for part in maps)
    header = explorer_header(trace, [part.size for part in maps], roles)
    return packed({"id": f"{zlib.crc32(weights):08x}"} | header, weights)


def to_steps(weights: np.ndarray) -> np.ndarray:
    """Return weights as they travel: whole parts of which STEPS are 1, little-endian uint16."""
    return np.rint(weights.astype(np.float64) * STEPS).astype("<u2")


def explorer_header(trace: Trace, counts: Sequence[int], roles: HeadRoles | None) -> dict:
    """Return the header of the blob without its `id`; `counts` say how many weights of each kind follow it."""
    sides = {"source": trace.source_tokens, "fed": trace.decoder_input_tokens, "predicted": trace.target_tokens}
    offsets = np.cumsum([0, *counts]).tolist()
    return {
        "steps": STEPS,
        "texts": EXPLORER_TEXTS,
        "sides": {name: _side(tokens) for name, tokens in sides.items()},
        "kinds": {kind: _kind(trace, kind, offset, roles) for kind, offset in zip(KINDS, offsets, strict=False)},
    }


def packed(header: Mapping[str, object], weights: bytes) -> bytes:
    """Return header and weights as one blob."""
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    text += b" " * (len(text) % 2)
    return len(text).to_bytes(4, "little") + text + weights


def _kind(trace: Trace, kind: str, offset: int, roles: HeadRoles | None) -> dict:
    """Return the header's part on a kind: its size, where its weights begin, and what was measured of its heads."""
    measured = measure_heads(kind, masked_maps(trace, kind), keys_of(trace, kind), trace.target_tokens)
    return {
        **dict(zip(("layers", "heads", "queries", "keys"), trace.attention(kind).shape, strict=True)),
        "offset": offset,
        "labels": [head.label for head in measured],
        "roles": [role_words(head, roles) for head in measured],
        "measures": _measures(measured),
        "look": [[head.layer, head.head, look_words(head, roles)] for head in representative_heads(measured)],
    }


def _measures(measured: Sequence[HeadMeasures]) -> dict[str, list[float | None]]:
    """Return each measure's values, head by head, to three decimals, None for NaN; measures of NaN alone left out."""
    values: dict[str, list[float]] = {
        "confidence": [head.confidence for head in measured],
        "entropy": [head.entropy for head in measured],
        **{name: [float(head.counts[name]) for head in measured] for name in THRESHOLDS},
    }
    return {
        name: [round(float(value), 3) if np.isfinite(value) else None for value in line]
        for name, line in values.items()
        if np.isfinite(line).any()
    }


def _side(tokens: tuple[str, ...]) -> dict:
    """Return tokens, the positions of the special ones, and for each token the number of the word it belongs to."""
    starts = [index == 0 or _starts_word(tokens[index - 1], token) for index, token in enumerate(tokens)]
    special = [index for index, token in enumerate(tokens) if token in SPECIAL_TOKENS]
    return {"tokens": list(tokens), "special": special, "words": (np.cumsum(starts) - 1).tolist()}


def _starts_word(before: str, token: str) -> bool:
    """Tell whether a word begins with this token: after a blank, at a special token, between letters and marks."""
    if token.startswith(SPACE) or {before, token} & set(SPECIAL_TOKENS):
        return True
    return before != SPACE and _is_mark(before) != _is_mark(token)


def _is_mark(token: str) -> bool:
    return is_punctuation(token) and not WITHIN_WORDS.issuperset(token)


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
