"""One attention map cut out of a trace: which head or average, which labels, which tokens. NumPy only."""

from dataclasses import dataclass

import numpy as np

from .trace import Trace

ROW_LABELS = ("fed", "predicted")
SPECIAL_TOKENS = ("<s>", "</s>", "<pad>")


@dataclass(frozen=True, eq=False)
class AttentionMap:
    """Weights [queries, keys] with their labels; masked cells are NaN.

    `layer` and `head` count from 0; None means the average over all. `queries` are labelled as `row_label` says: a
    decoder row has the token it was fed and the token it predicts, both kept here; an encoder row has only its own.
    """

    kind: str
    layer: int | None
    head: int | None
    layers: int
    heads: int
    weights: np.ndarray
    keys: tuple[str, ...]
    fed: tuple[str, ...]
    predicted: tuple[str, ...] | None
    row_label: str

    @property
    def queries(self) -> tuple[str, ...]:
        """The rows' labels."""
        return self.predicted if self.row_label == "predicted" and self.predicted is not None else self.fed


def attention_map(
    trace: Trace,
    kind: str,
    layer: int | None = None,
    head: int | None = None,
    row_label: str = "fed",
) -> AttentionMap:
    """One head's map, or the average over layers, heads, or both; raises ValueError for what the trace has not."""
    if row_label not in ROW_LABELS:
        raise ValueError(f"row_label must be in {ROW_LABELS}, got {row_label}")
    maps = masked_maps(trace, kind)
    layers, heads = maps.shape[:2]
    for name, value, count in (("layer", layer, layers), ("head", head, heads)):
        if value is not None and not 0 <= value < count:
            raise ValueError(f"{name} must be in 0 to {count - 1}, got {value}")
    chosen = maps if layer is None else maps[layer : layer + 1]
    chosen = chosen if head is None else chosen[:, head : head + 1]
    fed, predicted, keys = _labels(trace, kind)
    return AttentionMap(kind, layer, head, layers, heads, chosen.mean(axis=(0, 1)), keys, fed, predicted, row_label)


def masked_maps(trace: Trace, kind: str) -> np.ndarray:
    """All maps of a kind, [layers, heads, queries, keys], cells that the causal mask closes as NaN."""
    maps = trace.attention(kind)
    if kind != "decoder":
        return maps
    return np.where(np.tri(maps.shape[-1], dtype=bool), maps, np.nan)


def _labels(trace: Trace, kind: str) -> tuple[tuple[str, ...], tuple[str, ...] | None, tuple[str, ...]]:
    """What each row was fed, what it predicts (None for the encoder), and the columns."""
    if kind == "encoder":
        return trace.source_tokens, None, trace.source_tokens
    keys = trace.source_tokens if kind == "cross" else trace.fed_tokens
    return trace.fed_tokens, trace.next_tokens, keys
