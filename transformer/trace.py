"""Trace: everything figures, pages and notebooks read of one translated sentence."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .recording import Recording
from .tokenizer import Piece, Tokenizer

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


def read_only(array: np.ndarray) -> np.ndarray:
    """The array itself, made read-only: a trace is shared by all who look at it."""
    array.setflags(write=False)
    return array
