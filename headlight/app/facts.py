"""Facts for components: plain values and arrays, as JSON that lib/facts.js reads.

A component receives facts and turns them into words and pictures. In the one-file page the same facts come from the
engine in the browser.
"""

import base64
from collections.abc import Mapping

import numpy as np

from transformer.interpret.trace import Trace

_TYPES = {"float32": "<f4", "uint16": "<u2", "int32": "<i4"}


def encode_array(values: np.ndarray, dtype: str = "float32") -> dict:
    """Return an array as {dtype, shape, base64}; NaN becomes 0. `dtype` is "float32", "uint16" or "int32"."""
    data = np.nan_to_num(np.asarray(values)).astype(_TYPES[dtype]).tobytes()
    return {"dtype": dtype, "shape": list(np.shape(values)), "base64": base64.b64encode(data).decode("ascii")}


def trace_facts(trace: Trace, maps: Mapping[str, np.ndarray] | None = None) -> dict:
    """Return the facts of a trace: texts, tokens, ids, probabilities and candidates of each step.

    maps: attention weights by kind, [layers, heads, queries, keys], all or some of the trace's own.
    """
    return {
        "source_text": trace.source_text,
        "target_text": trace.target_text,
        "finished": trace.finished,
        "num_forced": trace.num_forced,
        "source_ids": list(trace.source_ids),
        "source_tokens": list(trace.source_tokens),
        "decoder_input_ids": list(trace.decoder_input_ids),
        "decoder_input_tokens": list(trace.decoder_input_tokens),
        "target_ids": list(trace.target_ids),
        "target_tokens": list(trace.target_tokens),
        "target_probabilities": encode_array(trace.target_probabilities),
        "target_ranks": trace.target_ranks.tolist(),
        "entropies": encode_array(trace.entropies),
        "candidate_ids": trace.candidate_ids.ravel().tolist(),
        "candidate_tokens": [list(tokens) for tokens in trace.candidate_tokens],
        "candidate_probabilities": encode_array(trace.candidate_probabilities.ravel()),
        **{kind: encode_array(weights) for kind, weights in (maps or {}).items()},
    }
