"""A trace as an attribution file of inseq: `inseq.FeatureAttributionOutput.load(path)` reads it.

The layout is that of inseq 0.7 (inseq/data/attribution.py) for its method "attention" of an encoder-decoder: tensors
are safetensors in base64, scores are [attended tokens, generated tokens, layers, heads].
"""

import base64
import json
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from ..files import write_atomically

_DATA, _TYPES = "inseq.data.attribution", "inseq.utils.typing"


def save_inseq(path: str | PathLike[str], trace: Mapping[str, Any]) -> None:
    """Write maps and probabilities, a trace's fields by name, as a JSON file of inseq; raises OSError."""
    content = json.dumps(_output(trace), ensure_ascii=False)
    write_atomically(Path(path), content.encode())


def _output(trace: Mapping[str, Any]) -> dict[str, Any]:
    steps = len(trace["target_ids"])
    masked = np.where(np.tril(np.ones((steps, steps), bool)), trace["decoder"], np.nan)
    last = np.full((1, steps, *masked.shape[:2]), np.nan)  # no step attends to the last token
    sequence = {
        "source": _tokens(trace["source_tokens"], trace["source_ids"]),
        "target": _tokens(
            (trace["decoder_input_tokens"][0], *trace["target_tokens"]),
            (trace["decoder_input_ids"][0], *trace["target_ids"]),
        ),
        "source_attributions": _tensor(_keys_first(trace["cross"])),
        "target_attributions": _tensor(np.concatenate([_keys_first(masked), last])),
        "step_scores": {"probability": _tensor(trace["target_probabilities"])},
        "sequence_scores": {"encoder_self_attentions": _tensor(_keys_first(trace["encoder"]))},
        "attr_pos_start": 1,  # the begin of sentence is not generated
        "attr_pos_end": steps + 1,
        "_num_dimensions": 2,  # layers and heads, over which inseq aggregates
    }
    info = {
        "attribution_method": "attention",
        "input_texts": [trace["source_text"]],
        "generated_texts": [trace["target_text"]],
    }
    sequences = [_instance(_DATA, "MultiDimensionalFeatureAttributionSequenceOutput", sequence)]
    return _instance(
        _DATA, "FeatureAttributionOutput", {"sequence_attributions": sequences, "step_attributions": None, "info": info}
    )


def _keys_first(maps: np.ndarray) -> np.ndarray:
    """Return [keys, queries, layers, heads] of [layers, heads, queries, keys]."""
    return maps.transpose(3, 2, 0, 1)


def _tokens(tokens: Sequence[str], ids: Sequence[int]) -> list[dict[str, Any]]:
    return [
        _instance(_TYPES, "TokenWithId", {"token": token, "id": int(id)}) for token, id in zip(tokens, ids, strict=True)
    ]


def _tensor(values: np.ndarray) -> str:
    content: bytes = save({"attribution": np.ascontiguousarray(values, dtype=np.float32)})
    return base64.b64encode(content).decode()


def _instance(module: str, name: str, attributes: dict[str, Any]) -> dict[str, Any]:
    return {"__instance_type__": [module, name], "attributes": attributes}
