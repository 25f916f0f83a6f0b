"""One stack translates and is traced; the four blocks of its attention maps."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
import torch

from ..arrays import to_array
from ..checkpoint import OneStackCheckpoint, load_one_stack, locate
from ..data.batching import Ids
from ..data.reading import TextReader
from ..data.tokenizer import TextTokenizer
from ..decoding.one_stack import decode_greedily
from ..errors import UserError
from ..model.device import choose_device, keep_freed_memory
from ..model.names import AttentionKind, Name
from ..model.one_stack import OneStack, row_mask
from .activations import Request, predict, recording, weights_of

_BATCH = 64  # sentences of one length decoded side by side
_CORES = "layers.*.self_attention.core"


class BlockName(Name):
    """Blocks of a map whose rows and columns are the source, then the target: who reads, and what is read."""

    SOURCE_ON_SOURCE = "source on source"
    SOURCE_ON_TARGET = "source on target"
    TARGET_ON_SOURCE = "target on source"
    TARGET_ON_TARGET = "target on target"

    @property
    def kind(self) -> AttentionKind | None:
        """The encoder-decoder's kind of attention with these rows and columns; None for the empty block."""
        return _KINDS.get(self)


_KINDS = {
    BlockName.SOURCE_ON_SOURCE: AttentionKind.ENCODER,
    BlockName.TARGET_ON_SOURCE: AttentionKind.CROSS,
    BlockName.TARGET_ON_TARGET: AttentionKind.DECODER,
}


@dataclass(frozen=True, eq=False)
class Block:
    """Block of all maps: its rows and columns in them, and its weights, [layers, heads, rows, columns]."""

    name: BlockName
    rows: slice
    columns: slice
    weights: np.ndarray

    @property
    def shares(self) -> np.ndarray:
        """Each head's weight on the columns, from 0 to 1, as the mean over the rows of the block: [layers, heads].

        The two blocks with the same rows add up to 1.
        """
        return np.asarray(self.weights.sum(axis=-1).mean(axis=-1))

    @property
    def weight(self) -> float:
        """The mean of `shares` over all heads of all layers."""
        return float(self.shares.mean())


@dataclass(frozen=True, eq=False)
class OneStackTrace:
    """One sentence, its translation, and every attention weight of the pass over both in one row. Arrays are read-only.

    The row is the source with its end of sentence, then the decoder's input: begin of sentence and the translation
    without its last token. `decoder`: [layers, heads, tokens, tokens], rows are queries, columns keys; layers and heads
    count from 0. Target row t predicts `target_tokens[t]`, to which the model gave `target_probabilities[t]`.
    `finished` is False for a translation without its end of sentence. `prefix` is True for a pass in which the source
    tokens could read each other in both directions, which the model was not trained for.
    """

    source_text: str
    target_text: str
    source_tokens: tuple[str, ...]
    source_ids: tuple[int, ...]
    decoder_input_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]
    target_ids: tuple[int, ...]
    decoder: np.ndarray
    target_probabilities: np.ndarray
    finished: bool
    prefix: bool = False

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens of rows and columns."""
        return (*self.source_tokens, *self.decoder_input_tokens)

    def block(self, name: BlockName | str) -> Block:
        """Return a block by its name; raises ValueError for another name."""
        name, end = BlockName(name), len(self.source_tokens)
        sides = {"source": slice(0, end), "target": slice(end, None)}
        rows, columns = map(sides.__getitem__, name.split(" on "))
        return Block(name, rows, columns, self.decoder[:, :, rows, columns])

    def blocks(self) -> dict[str, Block]:
        """Return the four blocks by their names."""
        return {name.value: self.block(name) for name in BlockName}


def record_row(
    model: OneStack, tokenizer: TextTokenizer, text: str, source_ids: Ids, target_ids: Ids, *, prefix: bool = False
) -> OneStackTrace:
    """Run one teacher-forced pass over a source and its translation, both with their end, and return its trace."""
    size, fed = len(source_ids), [tokenizer.begin_id, *target_ids[:-1]]
    ids = torch.tensor([[*source_ids, *fed]], device=model.device)
    mask = row_mask(ids.shape[1], size, prefix=prefix).to(model.device)
    with recording(model, Request(keep=(_CORES,))) as calls:
        logits = model(ids, mask)[0, size:]
        predicted = predict(logits, torch.tensor(target_ids, device=model.device), 1)
        weights = torch.stack([weights_of(core)[0] for (core,) in calls.values()])
    return OneStackTrace(
        source_text=text,
        target_text=tokenizer.decode(target_ids),
        source_tokens=tuple(map(tokenizer.source_piece_text, source_ids)),
        source_ids=tuple(source_ids),
        decoder_input_tokens=tuple(map(tokenizer.piece_text, fed)),
        target_tokens=tuple(map(tokenizer.piece_text, target_ids)),
        target_ids=tuple(target_ids),
        decoder=to_array(weights),
        target_probabilities=predicted.probabilities,
        finished=target_ids[-1] == tokenizer.end_id,
        prefix=prefix,
    )


def overlaps(trace: OneStackTrace, name: BlockName, maps: np.ndarray) -> np.ndarray:
    """Compare the heads of a block with those of another model: [layers, heads, other layers, other heads].

    maps: [other layers, other heads, rows, columns], of the same tokens. Each row of either is divided by its sum;
    their common weight, from 0 to 1, is averaged over the rows.
    """
    block = trace.block(name).weights
    ours, theirs = (each / np.maximum(each.sum(axis=-1, keepdims=True), 1e-12) for each in (block, maps))
    common = [np.minimum(head, theirs).sum(axis=-1).mean(axis=-1) for layer in ours for head in layer]
    return np.array(common).reshape(*block.shape[:2], *maps.shape[:2])


class OneStackTranslator(TextReader):
    """Translates greedily, and shows how. Safe to share between threads."""

    def __init__(self, checkpoint: OneStackCheckpoint):
        self.checkpoint = checkpoint
        self.model = checkpoint.model.eval()
        config = self.model.config
        super().__init__(checkpoint.tokenizer, replace(config, max_length=config.max_length // 2))  # half for each side

    def __repr__(self) -> str:
        config = self.model.config
        sizes = f"{config.num_encoder_layers} layers, {config.num_heads} heads, d_model {config.d_model}"
        return f"<OneStackTranslator: {sizes}, {self.model.device}>"

    @classmethod
    def load(cls, folder: str | Path, device: str | torch.device | None = None) -> Self:
        """Read a checkpoint, a folder or the name of a shipped one; raises CheckpointError and DeviceError."""
        keep_freed_memory()
        return cls(load_one_stack(locate(folder), choose_device(str(device) if device else None)))

    def translate(self, texts: Sequence[str], *, prefix: bool = False, **options: object) -> list[str]:
        """Return the greedy translation of each text, order kept.

        prefix: True to let source tokens read each other in both directions, outside the training of the model. Raises
        EmptyTextError, TooLongError, and UserError for the options of an encoder-decoder.
        """
        _refuse(options)
        sources = [self._source_ids(text) for text in self._texts(texts)]
        by_length: dict[int, list[int]] = {}
        for index, source in enumerate(sources):
            by_length.setdefault(len(source), []).append(index)
        translations: dict[int, str] = {}
        for indices in by_length.values():
            for start in range(0, len(indices), _BATCH):
                some = indices[start : start + _BATCH]
                best = decode_greedily(self.model, [sources[index] for index in some], prefix=prefix)
                translations.update(zip(some, map(self.tokenizer.decode, best), strict=True))
        return [translations[index] for index in range(len(sources))]

    def trace(
        self, text: str, *, target: str | Ids | None = None, prefix: bool = False, **options: object
    ) -> OneStackTrace:
        """Every attention weight of one sentence and its greedy translation, or a `target` given as a text or ids.

        Raises as `translate`.
        """
        _refuse(options)
        source = self._source_ids(text)
        if target is None:
            ids = decode_greedily(self.model, [source], prefix=prefix)[0]
        elif isinstance(target, str):
            ids = [*self._checked_ids(target, "target"), self.tokenizer.end_id]
        else:
            ids = self._known_target(target)
        return record_row(self.model, self.tokenizer, text, source, ids, prefix=prefix)


def _refuse(options: dict[str, object]) -> None:
    if options:
        raise UserError(
            f"One stack takes no {', '.join(sorted(options))}: it decodes greedily. Beam search, sampling and "
            'interventions are for an encoder and a decoder: hl.load("en-de").'
        )
