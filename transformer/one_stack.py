"""OneStackTranslator: a checkpoint of one stack with its two verbs, translate and trace."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

import torch

from .checkpoint import OneStackCheckpoint, load_one_stack, locate
from .data.batching import Ids
from .data.reading import TextReader
from .decoding.one_stack import decode_greedily
from .errors import UserError
from .interpret.one_stack import OneStackTrace, record_row
from .model.device import choose_device, keep_freed_memory

_BATCH = 64  # sentences of one length decoded side by side


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
