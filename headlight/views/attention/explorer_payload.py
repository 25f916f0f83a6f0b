"""All attention of a sentence as one blob of bytes for the explorer: a header of JSON, then the weights."""

import json
import zlib
from collections.abc import Sequence

import numpy as np

from headlight.plots.text import KIND_NAMES
from transformer.data.tokenizer import SPACE
from transformer.interpret.head_patterns import (
    THRESHOLDS,
    HeadMeasures,
    is_punctuation,
    measure_heads,
    representative_heads,
)
from transformer.interpret.head_roles import HeadRoles
from transformer.interpret.trace import SPECIAL_TOKENS, Trace, masked_maps

from .explorer_text import explorer_words, look_words, role_words

KINDS = tuple(KIND_NAMES)
WITHIN_WORDS = frozenset("-'’")  # punctuation that may stand in the middle of a word

# Weights travel as whole 50,000ths. Where four decimals are rounded lies halfway between two of these, so that four
# decimals of what arrives are those of the weight itself.
STEPS = 50_000


def explorer_blob(trace: Trace, roles: HeadRoles | None = None) -> bytes:
    """Everything that the explorer draws of a sentence; `roles` says what the heads do over a corpus.

    Four bytes with the header's length (little-endian), the header padded with blanks to a multiple of two, then for
    each of KINDS the weights [layers, heads, queries, keys] in uint16, STEPS for 1: two bytes a weight, exact to four
    decimals. A kind's `offset` counts weights.
    """
    maps = [trace.attention(kind) for kind in KINDS]
    weights = b"".join(np.rint(part.astype(np.float64) * STEPS).astype("<u2").tobytes() for part in maps)
    offsets = np.cumsum([0, *(part.size for part in maps)]).tolist()
    sides = {"source": trace.source_tokens, "fed": trace.fed_tokens, "predicted": trace.next_tokens}
    header = {
        "id": f"{zlib.crc32(weights):08x}",
        "steps": STEPS,
        "texts": explorer_words(),
        "sides": {name: _side(tokens) for name, tokens in sides.items()},
        "kinds": {kind: _kind(trace, kind, offset, roles) for kind, offset in zip(KINDS, offsets, strict=False)},
    }
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    text += b" " * (len(text) % 2)
    return len(text).to_bytes(4, "little") + text + weights


def _kind(trace: Trace, kind: str, offset: int, roles: HeadRoles | None) -> dict:
    """What the header says of a kind: its size, where its weights begin, and what was measured of its heads."""
    layers, heads, queries, keys = trace.attention(kind).shape
    read = trace.fed_tokens if kind == "decoder" else trace.source_tokens
    measured = measure_heads(kind, masked_maps(trace, kind), read, trace.next_tokens)
    size = {"layers": layers, "heads": heads, "queries": queries, "keys": keys}
    return {
        **size,
        "offset": offset,
        "labels": [head.label for head in measured],
        "roles": [role_words(head, roles) for head in measured],
        "measures": _measures(measured),
        "look": [[head.layer, head.head, look_words(head, roles)] for head in representative_heads(measured)],
    }


def _measures(measured: Sequence[HeadMeasures]) -> dict[str, list[float | None]]:
    """Each measure's values, head by head, to three decimals; null for a head that has none; without empty measures."""
    values = {
        "confidence": [head.confidence for head in measured],
        "entropy": [head.entropy for head in measured],
        **{name: [float(head.counts[name]) for head in measured] for name in THRESHOLDS},
    }
    return {name: [_number(value) for value in line] for name, line in values.items() if np.isfinite(line).any()}


def _number(value: float) -> float | None:
    return round(float(value), 3) if np.isfinite(value) else None


def _side(tokens: tuple[str, ...]) -> dict:
    """Tokens, the positions of the special ones, and for each token the number of the word that it belongs to."""
    starts = [place == 0 or _starts_word(tokens[place - 1], token) for place, token in enumerate(tokens)]
    special = [place for place, token in enumerate(tokens) if token in SPECIAL_TOKENS]
    return {"tokens": list(tokens), "special": special, "words": (np.cumsum(starts) - 1).tolist()}


def _starts_word(before: str, token: str) -> bool:
    """Whether a new word begins with this token: after a blank, at a special token, between letters and punctuation."""
    if token.startswith(SPACE) or {before, token} & set(SPECIAL_TOKENS):
        return True
    return before != SPACE and _is_mark(before) != _is_mark(token)


def _is_mark(token: str) -> bool:
    return is_punctuation(token) and not WITHIN_WORDS.issuperset(token)
