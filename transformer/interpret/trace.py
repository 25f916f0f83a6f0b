"""Trace: everything figures, pages and notebooks read of one translated sentence; and one attention map of it."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..arrays import read_only
from ..data.tokenizer import Piece, Tokenizer
from .activations import Recording

TOP_K = 10  # candidates kept a step


@dataclass(frozen=True, eq=False)
class Trace:
    """One sentence, its target, and every attention weight of the pass over both. Arrays are float32 and read-only.

    encoder: [layers, heads, source, source], decoder: [layers, heads, target, target],
    cross: [layers, heads, target, source]; rows are queries, columns keys, layers and heads count from 0.
    Decoder row t was fed `fed_tokens[t]`; what follows it in this target is `next_tokens[t]`, to which the model gave
    `next_probabilities[t]` and the rank `next_ranks[t]` (1 = most probable). `entropies` are in nats.
    `candidate_ids` and `candidate_probabilities`: [target, k], most probable first.
    `origin` tells where the target came from: "decoded", "target" (given) or "prefix" (its beginning given).
    `finished` is False for a decoded target that met the length limit before its end of sentence.
    """

    source_text: str
    target_text: str
    origin: str
    finished: bool
    source_pieces: tuple[Piece, ...]
    source_tokens: tuple[str, ...]
    source_ids: tuple[int, ...]
    fed_tokens: tuple[str, ...]
    fed_ids: tuple[int, ...]
    next_tokens: tuple[str, ...]
    next_ids: tuple[int, ...]
    encoder: np.ndarray
    decoder: np.ndarray
    cross: np.ndarray
    next_probabilities: np.ndarray
    next_ranks: np.ndarray
    entropies: np.ndarray
    candidate_ids: np.ndarray
    candidate_probabilities: np.ndarray
    candidate_tokens: tuple[tuple[str, ...], ...]

    def attention(self, kind: str) -> np.ndarray:
        """The maps of a kind: "encoder", "decoder" or "cross"; raises ValueError for another."""
        if kind not in ("encoder", "decoder", "cross"):
            raise ValueError(f"kind must be encoder, decoder or cross, got {kind!r}")
        return getattr(self, kind)

    def save(self, path: Path) -> None:
        """Write everything as one .npz of plain arrays (token texts as Unicode arrays, nothing pickled)."""
        arrays = {
            name: value if isinstance(value, np.ndarray) else np.array(value)
            for name, value in ((field.name, getattr(self, field.name)) for field in dataclasses.fields(self))
            if name != "source_pieces"
        }
        arrays["source_spans"] = np.array([(piece.begin, piece.end) for piece in self.source_pieces], dtype=np.int64)
        with open(path, "wb") as file:
            np.savez_compressed(file, **arrays)


def make_trace(
    recording: Recording,
    tokenizer: Tokenizer,
    *,
    source_text: str,
    source_pieces: list[Piece],
    target_ids: list[int],
    origin: str,
) -> Trace:
    """Assemble a trace from a recording and the ids it was made of.

    target_ids: what follows begin of sentence, end of sentence included where there is one: [target].
    """
    source_ids = [*(piece.id for piece in source_pieces), tokenizer.end_id]
    fed_ids = [tokenizer.begin_id, *target_ids[:-1]]
    rows = np.arange(len(target_ids))
    log_probabilities = recording.logits.log_softmax(dim=-1)
    probabilities = log_probabilities.exp()
    top = probabilities.topk(min(TOP_K, probabilities.shape[-1]), dim=-1)
    candidate_ids = top.indices.cpu().numpy()
    entropies = -(probabilities * log_probabilities).sum(dim=-1)
    probabilities = probabilities.cpu().numpy()
    chosen = probabilities[rows, target_ids]
    return Trace(
        source_text=source_text,
        target_text=tokenizer.decode(target_ids),
        origin=origin,
        finished=target_ids[-1] == tokenizer.end_id,
        source_pieces=tuple(source_pieces),
        source_tokens=tuple(map(tokenizer.piece_text, source_ids)),
        source_ids=tuple(source_ids),
        fed_tokens=tuple(map(tokenizer.piece_text, fed_ids)),
        fed_ids=tuple(fed_ids),
        next_tokens=tuple(map(tokenizer.piece_text, target_ids)),
        next_ids=tuple(target_ids),
        encoder=read_only(recording.encoder.cpu().numpy()),
        decoder=read_only(recording.decoder.cpu().numpy()),
        cross=read_only(recording.cross.cpu().numpy()),
        next_probabilities=read_only(chosen),
        next_ranks=read_only((probabilities > chosen[:, None]).sum(axis=1) + 1),
        entropies=read_only(entropies.cpu().numpy()),
        candidate_ids=read_only(candidate_ids),
        candidate_probabilities=read_only(top.values.cpu().numpy()),
        candidate_tokens=tuple(tuple(map(tokenizer.piece_text, row)) for row in candidate_ids.tolist()),
    )


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
