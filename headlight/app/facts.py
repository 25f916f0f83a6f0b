"""Facts for components: plain values and arrays, as JSON or bytes that lib/facts.js reads.

A component receives facts and turns them into words and pictures. In the one-file page the same facts come from the
engine in the browser.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from transformer.interpret.head_patterns import HeadMeasures, Pattern

from .finding import Templates

if TYPE_CHECKING:
    from transformer.corpus import HeadRoles
    from transformer.interpret.trace import Trace

# Attention weights travel as whole 50,000ths. Where four decimals are rounded lies halfway between two of these, so
# that four decimals of what arrives are those of the weight itself.
STEPS = 50_000
_TYPES = {"float32": "<f4", "float16": "<f2", "uint16": "<u2", "int32": "<i4"}
TEMPLATES = Templates.beside(__file__)


def pattern_place(pattern: Pattern) -> str:
    """Return the place of a row's largest weight in a head of a pattern."""
    return TEMPLATES.text(pattern)


def pattern_words() -> dict[Pattern, tuple[str, ...]]:
    """Return for each pattern the place of a row's largest weight, a word per line for a thumbnail, and its name."""
    forms = ("", ", short", ", name")
    return {pattern: tuple(TEMPLATES.text(f"{pattern}{form}") for form in forms) for pattern in Pattern}


def to_steps(weights: np.ndarray, steps: float = STEPS) -> np.ndarray:
    """Return weights as they travel: whole parts of which `steps` are 1, uint16."""
    return np.rint(weights.astype(np.float64) * steps).astype(np.uint16)


def encode_array(values: np.ndarray, dtype: str = "float32") -> dict:
    """Return an array as {dtype, shape, base64}; NaN becomes 0. `dtype` is one of `_TYPES`."""
    data = np.nan_to_num(np.asarray(values)).astype(_TYPES[dtype]).tobytes()
    return {"dtype": dtype, "shape": list(np.shape(values)), "base64": base64.b64encode(data).decode("ascii")}


def encode_matrix(values: np.ndarray) -> dict:
    """Return numbers in half precision where that has the same ones, else in single precision."""
    single = np.asarray(values, dtype=np.float32)
    is_half = np.array_equal(single.astype(np.float16), single)
    return encode_array(single, "float16" if is_half else "float32")


def translation_facts(trace: "Trace") -> dict:
    """Return the facts of a translation: its text, its tokens, the probability and rank of each output token, and the
    candidates of each step.
    """
    return {
        "target_text": trace.target_text,
        "source_tokens": list(trace.source_tokens),
        "decoder_input_tokens": list(trace.decoder_input_tokens),
        "target_tokens": list(trace.target_tokens),
        "target_probabilities": encode_array(trace.target_probabilities),
        "target_ranks": trace.target_ranks.tolist(),
        "candidate_tokens": [list(tokens) for tokens in trace.candidate_tokens],
        "candidate_probabilities": encode_array(trace.candidate_probabilities.ravel()),
    }


def trace_facts(trace: "Trace", maps: Mapping[str, np.ndarray] | None = None) -> dict:
    """Return the facts of a trace: those of the translation, its ids, and the entropy of each step.

    maps: attention weights by kind, [layers, heads, queries, keys], all or some of the trace's own.
    """
    return {
        **translation_facts(trace),
        "source_text": trace.source_text,
        "finished": trace.finished,
        "num_forced": trace.num_forced,
        "source_ids": list(trace.source_ids),
        "decoder_input_ids": list(trace.decoder_input_ids),
        "target_ids": list(trace.target_ids),
        "entropies": encode_array(trace.entropies),
        "candidate_ids": trace.candidate_ids.ravel().tolist(),
        **{kind: encode_array(weights) for kind, weights in (maps or {}).items()},
    }


def pack_facts(facts: Mapping[str, object], arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return facts with large uint16 arrays as bytes, a quarter smaller than base64.

    Four bytes with the length of the header (little-endian), the header as JSON padded to an even length, and the
    arrays in the order of the header's `arrays`, which has their shapes.
    """
    header = {**facts, "arrays": {name: list(array.shape) for name, array in arrays.items()}}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    text += b" " * (len(text) % 2)
    data = b"".join(np.asarray(array).astype("<u2").tobytes() for array in arrays.values())
    return len(text).to_bytes(4, "little") + text + data


def pattern_facts(measured: Sequence[HeadMeasures], roles: "HeadRoles | None" = None) -> dict:
    """Return the measures of all heads of a kind, layer by layer; None stands for NaN.

    counts: for each pattern that any head could follow, [rows, eligible rows] of each head. labelled: the number of the
    corpus's sentences in which a head has its label, None without `roles`.
    """

    def labelled(head: HeadMeasures) -> int | None:
        if roles is None or head.label is None:
            return None
        return round(roles.share(head.kind, head.layer, head.head, head.label) * roles.sentences)

    counts = {name: [[head.counts[name].rows, head.counts[name].eligible] for head in measured] for name in Pattern}
    return {
        "labels": [head.label for head in measured],
        "confidence": [_finite(head.confidence) for head in measured],
        "entropy": [_finite(head.entropy) for head in measured],
        "counts": {name: rows for name, rows in counts.items() if any(eligible for _, eligible in rows)},
        "labelled": [labelled(head) for head in measured],
    }


def _finite(value: float) -> float | None:
    return round(value, 6) if np.isfinite(value) else None
