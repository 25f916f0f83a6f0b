"""An atlas as HeadVis reads it: one folder a kind of attention, with config.json, scatter_data.json and heads/.

The form is that of Neuronpedia's pipeline (hijohnnylin/neuronpedia, utils/neuronpedia-utils/neuronpedia_utils/headvis)
for Anthropic's page. It has one list of tokens a sentence, and square maps. Encoder and decoder are such; for
cross-attention `tokens` is replaced by `query_tokens` and `key_tokens`, and a cell is row * len(key_tokens) + column.
"""

import json
from bisect import bisect_right
from dataclasses import asdict
from pathlib import Path

from ...files import write_atomically
from ...model.names import AttentionKind
from ..head_patterns import Pattern
from .atlas import FIFTHS, GREATEST_BINS, Atlas, HeadEntry, Join

DISTANCE_EDGES = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
METRICS = {
    "self_attention_score": "Share of rows whose greatest weight is on the token itself.",
    "prev_token_score": "Share of rows whose greatest weight is on the token before.",
    "alignment_score": "Share of rows whose greatest weight is on the source word that their output token translates.",
    "pattern_entropy": "Mean entropy of a row, in nats.",
    "confidence": "Mean over rows of the greatest weight on another key than the end of sentence.",
    "qk_distance": "Mean distance from the query, of cross-attention from the diagonal, in tokens.",
    "qk_distance_signed": "The same with its sign, positive to the right.",
    "end_share": "Mean weight on the end of sentence.",
    "punctuation_share": "Mean weight on punctuation.",
}
_SHARES = {
    "self_attention_score": Pattern.SAME,
    "prev_token_score": Pattern.PREVIOUS,
    "alignment_score": Pattern.OUTPUT_ALIGNMENT,
}
_MEANS = {
    "pattern_entropy": "entropy",
    "confidence": "confidence",
    "qk_distance": "absolute_distance",
    "qk_distance_signed": "distance",
    "end_share": "end",
    "punctuation_share": "punctuation",
}


def save_headvis(folder: Path, atlas: Atlas, checkpoint: str) -> None:
    """Write a folder for each kind of attention; raises OSError."""
    for kind, layers in atlas.heads.items():
        heads = folder / kind / "heads"
        heads.mkdir(parents=True, exist_ok=True)
        entries = [entry for layer in layers for entry in layer]
        _write(folder / kind / "config.json", _config(atlas, kind, entries, checkpoint))
        _write(folder / kind / "scatter_data.json", [_scatter(entry) for entry in entries])
        _write(folder / kind / "server_config.json", {})
        for entry in entries:
            _write(heads / f"L{entry.layer}H{entry.head}.json", _head(atlas, entry))


def _config(atlas: Atlas, kind: AttentionKind, entries: list[HeadEntry], checkpoint: str) -> dict[str, object]:
    return {
        "model_name": checkpoint,
        "dataset_name": ", ".join(atlas.provenance.pairs),
        "attention_kind": kind,
        "heads": [[entry.layer, entry.head] for entry in entries],
        "n_layers": 1 + max(entry.layer for entry in entries),
        "n_heads": 1 + max(entry.head for entry in entries),
        "n_intervals": FIFTHS,
        "metrics": list(METRICS),
        "metric_descriptions": METRICS,
        "head_data_pattern": "L{layer}H{head}.json",
        "has_umap": False,
        "umap_heads": [],
        "custom_plots": [
            {"key": "qk_distance_histogram", "label": "Q-K distance"},
            {"key": "histogram", "label": "Activation distribution"},
        ],
        "custom_tables": [
            {"key": "top_query_tokens", "label": "Top query tokens"},
            {"key": "top_key_tokens", "label": "Top key tokens"},
        ],
        "statistics_display": {
            "n_samples": {"label": "Samples kept", "format": "default"},
            "mean_max_activation": {"label": "Mean max activation", "format": "default"},
        },
        "pipeline_config": {**asdict(atlas.provenance), "sentences_measured": atlas.sentences_measured},
    }


def _scatter(entry: HeadEntry) -> dict[str, object]:
    row: dict[str, object] = {"layer": entry.layer, "head": entry.head}
    for name in METRICS:
        if name in _MEANS:
            row[name] = round(entry.measures[_MEANS[name]][0], 4)
        else:
            role = entry.roles.get(_SHARES[name])
            row[name] = round(role.rows / role.eligible, 4) if role and role.eligible else None
    return row


def _head(atlas: Atlas, entry: HeadEntry) -> dict[str, object]:
    edges = [round(bin / GREATEST_BINS, 4) for bin in range(GREATEST_BINS + 1)]
    distances = [0.0] * (len(DISTANCE_EDGES) - 1)
    sequences = []
    for example in entry.examples:
        rows, _, columns = atlas.sentences[example.sentence].labels(entry.kind)
        for cell, weight in zip(example.cells, example.weights, strict=True):
            distance = abs(cell // len(columns) - cell % len(columns))
            distances[min(bisect_right(DISTANCE_EDGES, distance), len(distances)) - 1] += weight
        cross = entry.kind == AttentionKind.CROSS
        tokens = {"query_tokens": rows, "key_tokens": columns} if cross else {"tokens": rows}
        sequences.append(
            {
                "sequence_id": example.sentence,
                "interval": example.fifth + 1,
                **tokens,
                "attention_indices": example.cells,
                "attention_values": example.weights,
                "seq_len": len(rows),
                "max_activation": max(example.weights, default=0.0),
                "confidence": example.confidence,
                "strongest": example.strongest,
            }
        )
    return {
        "sequences": sequences,
        "qk_distance_histogram": {
            "bin_edges": DISTANCE_EDGES,
            "bin_values": [round(value, 4) for value in distances],
        },
        "top_query_tokens": [_token(join.query, join) for join in entry.queries],
        "top_key_tokens": [_token(join.key, join) for join in entry.keys],
        "histogram": {"bin_edges": edges, "bin_values": entry.greatest},
        "statistics": {
            "n_samples": len(sequences),
            "mean_max_activation": entry.measures["maximum"][0],
        },
    }


def _token(token: str | None, join: Join) -> dict[str, object]:
    return {"token": token, "weight": join.weight, "rows": join.rows}


def _write(path: Path, content: object) -> None:
    write_atomically(path, (json.dumps(content, ensure_ascii=False) + "\n").encode())
