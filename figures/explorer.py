"""All attention of a sentence as one blob of bytes for the explorer: a header of JSON, then the weights."""

import json

import numpy as np

from transformer.head_measures import THRESHOLDS, HeadMeasures, measure_heads
from transformer.maps import SPECIAL_TOKENS, masked_maps
from transformer.trace import Trace

from .style import KIND_NAMES

KINDS = tuple(KIND_NAMES)
WORD_BOUNDARY = "▁"  # as SentencePiece writes the blank before a word


def explorer_blob(trace: Trace) -> bytes:
    """Everything that the explorer draws of a sentence.

    Four bytes with the header's length (little-endian), the header padded with blanks to a multiple of two, then for
    each of KINDS the weights [layers, heads, queries, keys] as 65535ths in uint16, exact to four decimals: two bytes a
    weight.
    """
    maps = [trace.attention(kind) for kind in KINDS]
    offset, kinds = 0, {}
    for kind, weights in zip(KINDS, maps, strict=True):
        layers, heads, queries, keys = weights.shape
        measured = measure_heads(kind, masked_maps(trace, kind), _keys(trace, kind))
        kinds[kind] = {
            "layers": layers, "heads": heads, "queries": queries, "keys": keys, "offset": offset,
            "name": KIND_NAMES[kind], "measures": [_measures(head) for head in measured],
        }  # fmt: skip
        offset += weights.size
    header = {
        "id": "-".join(map(str, (*trace.source_ids, 0, *trace.next_ids))),
        "source": _side(trace.source_tokens),
        "target": _side(trace.fed_tokens) | {"predicts": list(trace.next_tokens)},
        "thresholds": THRESHOLDS,
        "kinds": kinds,
    }
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    text += b" " * (len(text) % 2)
    weights = np.concatenate([np.rint(part.ravel() * 65535).astype("<u2") for part in maps])
    return len(text).to_bytes(4, "little") + text + weights.tobytes()


def _keys(trace: Trace, kind: str) -> tuple[str, ...]:
    return trace.fed_tokens if kind == "decoder" else trace.source_tokens


def _side(tokens: tuple[str, ...]) -> dict:
    """Tokens, which of them are special, and the number of the word that each belongs to."""
    words, number = [], -1
    for place, token in enumerate(tokens):
        special = token in SPECIAL_TOKENS
        if special or token.startswith(WORD_BOUNDARY) or place == 0 or tokens[place - 1] in SPECIAL_TOKENS:
            number += 1
        words.append(number)
    special = [place for place, token in enumerate(tokens) if token in SPECIAL_TOKENS]
    return {"tokens": list(tokens), "special": special, "words": words}


def _measures(head: HeadMeasures) -> dict:
    """A head's numbers to four decimals, null where there is none."""
    return {
        "label": head.label,
        "entropy": _number(head.entropy),
        "confidence": _number(head.confidence),
        **{name: _number(share) for name, share in head.shares.items()},
    }


def _number(value: float) -> float | None:
    return round(float(value), 4) if np.isfinite(value) else None
