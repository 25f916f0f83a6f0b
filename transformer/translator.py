"""Translator: a checkpoint with its verbs, for notebooks, scripts, the command line and the app."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, TypedDict, Unpack

import torch

from .checkpoint import Checkpoint, load_checkpoint, locate, place
from .data.batching import Ids, batches_by_length, make_examples
from .data.pairs import TextPairs
from .data.reading import TextReader
from .decoding.beam import Beam, SearchRecord, best_ids, record_beam_search, strategy_for
from .decoding.sampling import Greedy, Hypothesis, Sampling, decode, length_limits
from .errors import TooLongError
from .interpret.activations import ATTENTION, Activations, Request, record_decoder, record_encoder
from .interpret.trace import Trace
from .interpret.trace_file import Origin
from .interpret.what_if.importance import HeadImportance
from .interpret.what_if.running import Asked, Means, apply_interventions, read_all
from .model.device import choose_device, keep_freed_memory

Strategy = Greedy | Sampling | Beam


class DecodingOptions(TypedDict, total=False):
    """The fields of a `Decoding` as keyword arguments; `beam` is short for a strategy, 1 for greedy decoding."""

    beam: int
    strategy: Strategy
    prefix: str | Ids
    target_language: str | None
    source_language: str | None
    interventions: Asked
    means: Means | None


@dataclass(frozen=True)
class Decoding:
    """How a text is decoded. Fields are checked and brought into one form, so that it can be part of a cache's key.

    prefix: a text or ids that the translation begins with; the languages: those of a model that has several, see
    `TextReader.addressed`; interventions: what the model runs under, given as such or as their texts, and `means`, what
    mean ablation puts in place of a head's output, see `apply_interventions`. Raises ValueError and InterventionError.
    """

    strategy: Strategy = Greedy()
    prefix: str | Ids = ()
    target_language: str | None = None
    source_language: str | None = None
    interventions: Asked = ()
    means: Means | None = None

    def __post_init__(self):
        if not isinstance(self.strategy, Strategy):
            raise ValueError(f"strategy must be Greedy, Sampling or Beam, got {self.strategy!r}")
        if not isinstance(self.prefix, str):
            object.__setattr__(self, "prefix", tuple(self.prefix))
        object.__setattr__(self, "interventions", read_all(self.interventions))

    @classmethod
    def read(cls, decoding: "Decoding | Strategy | None", **options: Unpack[DecodingOptions]) -> "Decoding":
        """Return a decoding, or that of a strategy alone, with some of its fields replaced."""
        whole = decoding if isinstance(decoding, Decoding) else cls() if decoding is None else cls(strategy=decoding)
        fields: dict[str, Any] = dict(options)
        if "beam" in fields:
            fields.setdefault("strategy", strategy_for(fields.pop("beam")))
        return replace(whole, **fields)


Target = str | Ids | Hypothesis  # a text, ids, or what a search has found

_BATCH = 64  # sentences (times beam size) decoded side by side
_TRACED = 16  # the same, every attention kept


class Translator(TextReader):
    """Translates, and shows how. Safe to share between threads."""

    trace_class: type[Trace] = Trace  # what `trace` returns

    def __init__(self, checkpoint: Checkpoint):
        self.checkpoint = checkpoint
        self.model = checkpoint.model.eval()
        super().__init__(checkpoint.tokenizer, self.model.config)

    @classmethod
    def load(cls, folder: str | Path, device: str | torch.device | None = None) -> Self:
        """Read a checkpoint, a folder or the name of a shipped one ("en-de"), onto a device (see `choose_device`).

        Raises CheckpointError or DeviceError.
        """
        chosen = choose_device(str(device) if device else None)
        keep_freed_memory()
        return cls(load_checkpoint(locate(folder), chosen))

    @classmethod
    def import_from(cls, name: str | Path, device: str | torch.device | None = None) -> Self:
        """Load a model of Marian, BART, mBART, M2M100 or NLLB: a folder in Hugging Face's layout, or a name on its hub.

        Raises CheckpointError for one that this engine cannot be, DownloadError where a name cannot be fetched, and
        DeviceError where there is no such `device`.
        """
        from .exchange.importing import import_checkpoint  # not needed to translate

        chosen = choose_device(str(device) if device else None)
        keep_freed_memory()
        checkpoint = import_checkpoint(name)
        place(checkpoint.model, chosen)
        return cls(checkpoint)

    def translate(
        self,
        texts: Sequence[str],
        decoding: Decoding | Strategy | None = None,
        *,
        progress: Callable[[int], None] | None = None,
        **options: Unpack[DecodingOptions],
    ) -> list[str]:
        """Return the translation of each text, order kept, greedy unless a `decoding` or `options` of one ask for more.

        `progress` is called after each batch with the number of texts done. Raises EmptyTextError or TooLongError,
        before anything is translated, for a text that cannot be, and ValueError for one text in place of a list.
        """
        asked = Decoding.read(decoding, **options)
        readings = [self._read(text, asked) for text in self._texts(texts)]
        batch = max(1, _BATCH // asked.strategy.size) if isinstance(asked.strategy, Beam) else _BATCH
        translations: dict[int, str] = {}
        for indices in batches_by_length([each.source_ids for each in readings], batch):
            with apply_interventions(self.model, asked.interventions, asked.means):
                best = self._best_ids([readings[index] for index in indices], asked.strategy)
            for index, ids in zip(indices, best, strict=True):
                translations[index] = self.tokenizer.decode(ids)
            if progress:
                progress(len(translations))
        return [translations[index] for index in range(len(readings))]

    def best_ids(
        self, texts: Sequence[str], decoding: Decoding | Strategy | None = None, **options: Unpack[DecodingOptions]
    ) -> list[tuple[int, ...]]:
        """Return the best translation of each of a few texts as ids, decoded in one batch; raises as `translate`."""
        asked = Decoding.read(decoding, **options)
        readings = [self._read(text, asked) for text in self._texts(texts)]
        with apply_interventions(self.model, asked.interventions, asked.means):
            return list(map(tuple, self._best_ids(readings, asked.strategy)))

    def hypotheses(
        self, text: str, decoding: Decoding | Strategy | None = None, **options: Unpack[DecodingOptions]
    ) -> list[Hypothesis]:
        """Return the translations that the search found for one text, best first: one, or up to the beam's size."""
        asked = Decoding.read(decoding, **options)
        if isinstance(asked.strategy, Beam):
            return list(self.beam_search(text, asked).ended[: asked.strategy.size])
        sources, prefixes = self._checked_batch([self._read(text, asked)])
        with apply_interventions(self.model, asked.interventions, asked.means):
            return decode(self.model, sources, asked.strategy, prefixes)

    def beam_search(self, text: str, decoding: Decoding | Beam, **options: Unpack[DecodingOptions]) -> SearchRecord:
        """All translations of one text that the search found, and what the beam held at each step.

        Raises ValueError for another strategy than a beam.
        """
        asked = Decoding.read(decoding, **options)
        if not isinstance(asked.strategy, Beam):
            raise ValueError(f"a beam search expects a Beam, got {asked.strategy!r}")
        sources, prefixes = self._checked_batch([self._read(text, asked)])
        with apply_interventions(self.model, asked.interventions, asked.means):
            return record_beam_search(self.model, sources, asked.strategy, prefixes)[0]

    def trace(
        self,
        text: str,
        decoding: Decoding | Strategy | None = None,
        *,
        target: Target | None = None,
        **options: Unpack[DecodingOptions],
    ) -> Trace:
        """Every attention weight of one sentence: of its decoded translation, or of a `target` given.

        A target is a text, one of the `hypotheses` that a search has found, or a translation's ids. The source is
        encoded once; the target is replayed in one teacher-forced pass, which gives the same attention as its decoding
        did. All of it runs under the interventions, `trace.interventions` then. Raises EmptyTextError, TooLongError,
        InterventionError, and ValueError for a target and a prefix at once or ids that are none or not the model's.
        """
        return self.record(text, decoding, target=target, **options)[0]

    def record(
        self,
        text: str,
        decoding: Decoding | Strategy | None = None,
        *,
        keep: tuple[str, ...] = (),
        target: Target | None = None,
        decoded: Ids | None = None,
        **options: Unpack[DecodingOptions],
    ) -> tuple[Trace, Activations]:
        """Return a `trace`, and the pass that it was read from, which kept the calls of the modules in `keep` as well.

        `decoded`: the ids of the translation, where it has been decoded before. Raises as `trace`.
        """
        reading = self._read(text, asked := Decoding.read(decoding, **options), target)
        if decoded is not None:
            reading = replace(reading, target_ids=self._known_target(decoded))
        (trace,), activations = self._record([reading], asked, Request(keep=(*ATTENTION, *keep)))
        return trace, activations

    def trace_many(
        self,
        texts: Sequence[str],
        decoding: Decoding | Strategy | None = None,
        *,
        targets: Sequence[Target] | None = None,
        progress: Callable[[int], None] | None = None,
        **options: Unpack[DecodingOptions],
    ) -> list[Trace]:
        """Trace each text, in batches, order kept; targets: one a text. Raises as `translate` and `trace`."""
        asked, texts = Decoding.read(decoding, **options), self._texts(texts)
        each_target = [None] * len(texts) if targets is None else targets
        readings = [self._read(text, asked, target) for text, target in zip(texts, each_target, strict=True)]
        traces: dict[int, Trace] = {}
        for indices in batches_by_length([each.source_ids for each in readings], _TRACED):
            batch, _ = self._record([readings[index] for index in indices], asked, Request())
            traces.update(zip(indices, batch, strict=True))
            if progress:
                progress(len(traces))
        return [traces[index] for index in range(len(texts))]

    def head_importance(self, pairs: TextPairs, *, progress: Callable[[int], None] | None = None) -> HeadImportance:
        """Measure what each head alone is worth over pairs: the loss in a target token's log-probability without it.

        Raises DataError where no pair fits the model. `progress` is called with the number of sentences done.
        """
        from .interpret.what_if.importance import measure_importance  # not needed to translate

        examples = make_examples(pairs, self.tokenizer, self.model.config.max_length)
        return measure_importance(self.model, examples, progress=progress)

    def _read(self, text: str, asked: Decoding, target: Target | None = None) -> "_Reading":
        """Read a text and what its translation begins with, or the whole target, as ids; raises as `trace`."""
        if target is not None and len(asked.prefix):
            raise ValueError("a trace takes a target or a prefix, not both")
        text = self.addressed(text, asked.target_language, asked.source_language)
        source_ids, prefix_ids = self._source_ids(text), self._prefix_ids(asked.prefix, text)
        if target is None:
            return _Reading(text, source_ids, prefix_ids, Origin.PREFIX if len(asked.prefix) else Origin.DECODED)
        if isinstance(target, Hypothesis):
            return _Reading(text, source_ids, prefix_ids, Origin.DECODED, self._known_target(target.ids))
        return _Reading(text, source_ids, prefix_ids, Origin.TARGET, self._target_ids(target, text))

    def _target_ids(self, target: str | Ids, text: str) -> list[int]:
        if not isinstance(target, str):
            return self._known_target(target)
        ids = self._checked_ids(target, "target")
        return [*self._given(text), *ids, self.tokenizer.end_id]

    def _record(
        self, readings: Sequence["_Reading"], asked: Decoding, request: Request
    ) -> tuple[list[Trace], Activations]:
        """One batch: the targets that are not there are decoded, then all are replayed in one teacher-forced pass."""
        with apply_interventions(self.model, asked.interventions, asked.means):
            encoder = record_encoder(self.model, [each.source_ids for each in readings], request)
            given = [each.target_ids for each in readings if each.target_ids is not None]
            targets = given or self._best_ids(readings, asked.strategy, encoder.memory)
            decoder_inputs = [[self.tokenizer.begin_id, *ids[:-1]] for ids in targets]
            seen = record_decoder(self.model, encoder, decoder_inputs, request)
        make, interventions = self.trace_class.from_activations, read_all(asked.interventions)
        traces = [
            make(seen.sentence(at), self.tokenizer, reading.text, ids, reading.origin, interventions)
            for at, (reading, ids) in enumerate(zip(readings, targets, strict=True))
        ]
        return traces, seen

    def _best_ids(
        self, readings: Sequence["_Reading"], strategy: Strategy, memory: torch.Tensor | None = None
    ) -> Sequence[Ids]:
        """Return the best hypothesis' ids of each sentence; `memory` is what the encoder made of them if it has run."""
        sources, prefixes = self._checked_batch(readings)
        return best_ids(self.model, sources, strategy, prefixes, memory)

    def _checked_batch(self, readings: Sequence["_Reading"]) -> tuple[list[Ids], list[Ids]]:
        """Return the sources and prefixes; a prefix that leaves a translation nothing to add is refused."""
        sources, prefixes = [each.source_ids for each in readings], [each.prefix_ids for each in readings]
        for limit, prefix in zip(length_limits(self.model, sources), prefixes, strict=True):
            if len(prefix) >= limit:
                raise TooLongError(f"The prefix has {len(prefix)} tokens, more than this translation may have.")
        return sources, prefixes


@dataclass(frozen=True)
class _Reading:
    """A text with its languages as the ids of its source, and of what its translation begins with or is."""

    text: str
    source_ids: Ids
    prefix_ids: Ids
    origin: Origin
    target_ids: Ids | None = None
