"""Translator: a checkpoint with its verbs, for notebooks, scripts, the command line and the app."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, Unpack, overload

import torch

from .checkpoint import Checkpoint, load_checkpoint, locate
from .data.batching import Example, Ids, batches_by_length, make_examples
from .data.pairs import TextPairs, require_pairs
from .data.reading import TextReader
from .decoding.beam import Beam, SearchRecord, best_ids, record_beam_search, strategy_for
from .decoding.sampling import Greedy, Hypothesis, Sampling, decode, decode_ids, length_limits
from .errors import EmptyTextError, TooLongError
from .interpret.activations import ATTENTION, Activations, Request, read_decoding, record_decoder, record_encoder
from .interpret.memo import Memo
from .interpret.trace import Trace
from .interpret.trace_file import Origin
from .interpret.what_if.importance import HeadImportance
from .interpret.what_if.running import Interventions, Means, apply_interventions, measure_means, read_all
from .model.device import choose_device, keep_freed_memory, read_dtype
from .model.fused_step import keeping_step

if TYPE_CHECKING:
    from .interpret.study import Study

logger = logging.getLogger(__name__)

Strategy = Greedy | Sampling | Beam


class DecodingOptions(TypedDict, total=False):
    """The fields of a `Decoding` as keyword arguments; `beam` is short for a strategy, 1 for greedy decoding."""

    beam: int
    strategy: Strategy
    prefix: str | Ids
    target_language: str | None
    source_language: str | None
    task: str | None
    interventions: Interventions
    means: Means | None


@dataclass(frozen=True)
class Decoding:
    """Settings of the decoding of a text, checked and in one form, so that they can be part of a cache's key.

    prefix: a text or ids that the translation begins with; the languages: those of a model that has several, see
    `TextReader.addressed`; task: what a text begins with for a model that is so told what to do with it (T5), see
    `Checkpoint.prefixes`; interventions: what the model runs under, given as such or as their texts, and `means`, what
    mean ablation puts in place of a head's output, see `apply_interventions`. Raises ValueError and InterventionError.
    """

    strategy: Strategy = Greedy()
    prefix: str | Ids = ()
    target_language: str | None = None
    source_language: str | None = None
    task: str | None = None
    interventions: Interventions = ()
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
        if unknown := sorted(fields.keys() - vars(whole).keys()):
            known = ", ".join(DecodingOptions.__annotations__)
            raise ValueError(f"no option is called {', '.join(unknown)}; there are {known}")
        return replace(whole, **fields)


Target = str | Ids | Hypothesis  # a text, ids, or what a search has found

_BATCH = 64  # sentences (times beam size) decoded side by side
_TRACED = 16  # the same, every attention kept
_NAMED = 5  # texts that are skipped, in the log


class Translator(TextReader):
    """Translates, and shows how. Safe to share between threads."""

    trace_class: type[Trace] = Trace  # what `trace` returns

    def __init__(self, checkpoint: Checkpoint):
        self.checkpoint = checkpoint
        self.model = checkpoint.model.eval()
        self.memo = Memo()  # of what its studies measure
        super().__init__(checkpoint.tokenizer, self.model.config)

    def __repr__(self) -> str:
        config, data = self.model.config, self.checkpoint.data
        languages = f"{data.get('source_language', 'source')} to {data.get('target_language', 'target')}"
        layers = f"{config.num_encoder_layers} + {config.num_decoder_layers} layers"
        sizes = f"{layers}, {config.num_heads} heads, d_model {config.d_model}"
        return f"<Translator: {languages}, {sizes}, {self.model.device}>"

    @classmethod
    def load(
        cls, folder: str | Path, device: str | torch.device | None = None, dtype: str | torch.dtype | None = None
    ) -> Self:
        """Read a checkpoint, a folder or the name of a shipped one ("en-de"), onto a device (see `choose_device`).

        dtype: what it computes in, "float32" (None), "float64", "bfloat16" or "float16". What half precision is read
        from, the weights' softmax and all probabilities, is computed in float32; a trace's arrays are float32, of a
        model in float64 float64. Raises CheckpointError, DeviceError, and ValueError for another type.
        """
        chosen, computed_in = choose_device(str(device) if device else None), read_dtype(dtype)
        keep_freed_memory()
        return cls(load_checkpoint(locate(folder), chosen, computed_in))

    @overload
    def translate(
        self,
        texts: Sequence[str],
        decoding: Decoding | Strategy | None = None,
        *,
        skip: Literal[False] = False,
        progress: Callable[[int], None] | None = None,
        **options: Unpack[DecodingOptions],
    ) -> list[str]: ...

    @overload
    def translate(
        self,
        texts: Sequence[str],
        decoding: Decoding | Strategy | None = None,
        *,
        skip: bool,
        progress: Callable[[int], None] | None = None,
        **options: Unpack[DecodingOptions],
    ) -> list[str | None]: ...

    def translate(
        self,
        texts: Sequence[str],
        decoding: Decoding | Strategy | None = None,
        *,
        skip: bool = False,
        progress: Callable[[int], None] | None = None,
        **options: Unpack[DecodingOptions],
    ) -> list[str] | list[str | None]:
        """Return the translation of each text, order kept, greedy unless a `decoding` or `options` of one ask for more.

        skip: None in place of the translation of a text that is empty or too long, and a warning in the log that names
        them; without it, EmptyTextError or TooLongError names the first one by its index, before anything is
        translated. `progress` is called after each batch with the number of texts done. Raises UserError for a language
        that the model does not have, ValueError for one text in place of a list, and TypeError for what is no text:
        none of these is skipped.
        """
        decoding, texts = Decoding.read(decoding, **options), self._texts(texts)
        readings = self._readings(texts, decoding, skip=skip)
        batch = max(1, _BATCH // decoding.strategy.size) if isinstance(decoding.strategy, Beam) else _BATCH
        translations: dict[int, str] = {}
        for some in _batches(readings, batch):
            with apply_interventions(self.model, decoding.interventions, decoding.means):
                best = self._best_ids(list(some.values()), decoding.strategy)
            translations.update(zip(some, map(self.tokenizer.decode, best), strict=True))
            if progress:
                progress(len(texts) - len(readings) + len(translations))
        return [translations.get(index) for index in range(len(texts))]

    def best_ids(
        self, texts: Sequence[str], decoding: Decoding | Strategy | None = None, **options: Unpack[DecodingOptions]
    ) -> list[tuple[int, ...]]:
        """Return the best translation of each of a few texts as ids, decoded in one batch; raises as `translate`."""
        decoding = Decoding.read(decoding, **options)
        readings = list(self._readings(self._texts(texts), decoding).values())
        with apply_interventions(self.model, decoding.interventions, decoding.means):
            return list(map(tuple, self._best_ids(readings, decoding.strategy)))

    def hypotheses(
        self, text: str, decoding: Decoding | Strategy | None = None, **options: Unpack[DecodingOptions]
    ) -> list[Hypothesis]:
        """Return the translations that the search found for one text, best first: one, or up to the beam's size."""
        decoding = Decoding.read(decoding, **options)
        if isinstance(decoding.strategy, Beam):
            return list(self.beam_search(text, decoding).ended[: decoding.strategy.size])
        reading = self._read(text, decoding)
        with apply_interventions(self.model, decoding.interventions, decoding.means):
            return decode(self.model, [reading.source_ids], decoding.strategy, [reading.prefix_ids])

    def beam_search(self, text: str, decoding: Decoding | Beam, **options: Unpack[DecodingOptions]) -> SearchRecord:
        """All translations of one text that the search found, and what the beam held at each step.

        Raises ValueError for another strategy than a beam.
        """
        decoding = Decoding.read(decoding, **options)
        if not isinstance(decoding.strategy, Beam):
            raise ValueError(f"a beam search expects a Beam, got {decoding.strategy!r}")
        reading = self._read(text, decoding)
        with apply_interventions(self.model, decoding.interventions, decoding.means):
            return record_beam_search(self.model, [reading.source_ids], decoding.strategy, [reading.prefix_ids])[0]

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
        encoded once. A target is replayed in one teacher-forced pass, which gives the same attention as its decoding
        did; what is decoded here is mostly read from its own steps. All of it runs under the interventions,
        `trace.interventions` then. Raises EmptyTextError, TooLongError, InterventionError, ValueError for a target and
        a prefix at once or ids that are none or not the model's, and TypeError for what is no text.
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
        decoding = Decoding.read(decoding, **options)
        reading = self._read(text, decoding, target)
        if decoded is not None:
            reading = replace(reading, target_ids=self._known_target(decoded))
        (trace,), activations = self._record([reading], decoding, Request(keep=(*ATTENTION, *keep)))
        return trace, activations

    def study(
        self,
        text: str,
        decoding: Decoding | Strategy | None = None,
        *,
        target: Target | None = None,
        decoded: Ids | None = None,
        **options: Unpack[DecodingOptions],
    ) -> "Study":
        """Return the trace of one sentence with all measures of it; arguments and errors as for `record`."""
        from .interpret.study import Study  # not needed to translate

        return Study.record(self, text, Decoding.read(decoding, **options), target, decoded)

    @overload
    def trace_many(
        self,
        texts: Sequence[str],
        decoding: Decoding | Strategy | None = None,
        *,
        targets: Sequence[Target] | None = None,
        skip: Literal[False] = False,
        progress: Callable[[int], None] | None = None,
        **options: Unpack[DecodingOptions],
    ) -> list[Trace]: ...

    @overload
    def trace_many(
        self,
        texts: Sequence[str],
        decoding: Decoding | Strategy | None = None,
        *,
        targets: Sequence[Target] | None = None,
        skip: bool,
        progress: Callable[[int], None] | None = None,
        **options: Unpack[DecodingOptions],
    ) -> list[Trace | None]: ...

    def trace_many(
        self,
        texts: Sequence[str],
        decoding: Decoding | Strategy | None = None,
        *,
        targets: Sequence[Target] | None = None,
        skip: bool = False,
        progress: Callable[[int], None] | None = None,
        **options: Unpack[DecodingOptions],
    ) -> list[Trace] | list[Trace | None]:
        """Trace each text, in batches, order kept; targets: one a text.

        skip: None in place of the trace of a text, or target, that `translate` would skip. Raises as `translate` and
        `trace`.
        """
        decoding, texts = Decoding.read(decoding, **options), self._texts(texts)
        readings = self._readings(texts, decoding, targets, skip=skip)
        traces: dict[int, Trace] = {}
        for some in _batches(readings, _TRACED):
            traces.update(zip(some, self._record(list(some.values()), decoding, Request())[0], strict=True))
            if progress:
                progress(len(texts) - len(readings) + len(traces))
        return [traces.get(index) for index in range(len(texts))]

    def head_importance(
        self,
        pairs: TextPairs,
        ablation: str = "zero",
        *,
        means: Means | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> HeadImportance:
        """Measure what each head alone is worth over pairs: the loss in a target token's log-probability without it.

        ablation: "zero", "mean", which puts the head's mean output there, those in `means` or else the mean over the
        same pairs (see `measure_means`), or "uniform", which gives every key the same weight. Pairs that do not fit the
        model are left out, and named in the log. `progress` is called with the number of sentences done. Raises
        ValueError for another ablation, DataError where no pair fits, and TypeError for what are no pairs of texts.
        """
        from .interpret.what_if.importance import measure_importance  # not needed to translate

        return measure_importance(self.model, self._examples(pairs), ablation, means, progress).importance()

    def measure_means(self, pairs: TextPairs) -> Means:
        """Average each head's output and each hidden unit over pairs, for `Mean`; raises as `head_importance`.

        They are given to a run beside its interventions: `trace(text, interventions=[Mean("cross", 2)], means=means)`.
        """
        return measure_means(self.model, self._examples(pairs))

    def _examples(self, pairs: TextPairs) -> list[Example]:
        require_pairs(pairs)
        return make_examples(pairs, self.tokenizer, self.model.config.max_length)

    def _readings(
        self,
        texts: Sequence[str],
        decoding: Decoding,
        targets: Sequence[Target] | None = None,
        *,
        skip: bool = False,
    ) -> dict[int, "_Reading"]:
        """Read texts, by their index; one that cannot be read is skipped and logged, or raises, named by its index."""
        readings, skipped = {}, []
        each_target = repeat(None, len(texts)) if targets is None else targets
        for index, (text, target) in enumerate(zip(texts, each_target, strict=True)):
            try:
                readings[index] = self._read(text, decoding, target)
            except (EmptyTextError, TooLongError) as error:
                skipped.append(f"texts[{index}]: {error}")
                if not skip:
                    raise type(error)(skipped[0]) from error
        if skipped:
            named = " ".join(skipped[:_NAMED]) + " …" * (len(skipped) > _NAMED)
            logger.warning("skipped %d of %d texts: %s", len(skipped), len(texts), named)
        return readings

    def _read(self, text: str, decoding: Decoding, target: Target | None = None) -> "_Reading":
        """Read a text and what its translation begins with, or the whole target, as ids; raises as `trace`."""
        if target is not None and len(decoding.prefix):
            raise ValueError("a trace takes a target or a prefix, not both")
        text = self.addressed(text, decoding.target_language, decoding.source_language, decoding.task)
        source_ids, prefix_ids = self._source_ids(text), self.prefix_ids(decoding.prefix, text)
        if target is None:
            if len(prefix_ids) >= length_limits(self.model, [source_ids])[0]:
                raise TooLongError(f"The prefix has {len(prefix_ids)} tokens, more than this translation may have.")
            return _Reading(text, source_ids, prefix_ids, Origin.PREFIX if len(decoding.prefix) else Origin.DECODED)
        if isinstance(target, Hypothesis):
            return _Reading(text, source_ids, prefix_ids, Origin.DECODED, self._known_target(target.ids))
        return _Reading(text, source_ids, prefix_ids, Origin.TARGET, self._target_ids(target, text))

    def _target_ids(self, target: str | Ids, text: str) -> list[int]:
        if not isinstance(target, str):
            return self._known_target(target)
        ids = self._checked_ids(target, "target")
        return [*self.tokenizer.forced_ids(text), *ids, self.tokenizer.end_id]

    def _record(
        self, readings: Sequence["_Reading"], decoding: Decoding, request: Request
    ) -> tuple[list[Trace], Activations]:
        """One batch: the targets that are not there are decoded, then all are replayed in one teacher-forced pass.

        A single sentence need not be replayed where the steps of its decoding kept all that is decoding for.
        """
        with apply_interventions(self.model, decoding.interventions, decoding.means):
            encoder = record_encoder(self.model, [each.source_ids for each in readings], request)
            replayed = [each.target_ids for each in readings if each.target_ids is not None]
            plain = request.keep == ATTENTION and len(readings) == 1 and not replayed and not decoding.interventions
            step = keeping_step(self.model) if plain else None
            if step and not isinstance(decoding.strategy, Beam):
                sources, prefixes = [readings[0].source_ids], [readings[0].prefix_ids]
                targets: Sequence[Ids] = decode_ids(
                    self.model, sources, decoding.strategy, prefixes, encoder.memory, step
                )
                seen = read_decoding(self.model, encoder, step)
            else:
                targets = replayed or self._best_ids(readings, decoding.strategy, encoder.memory)
                decoder_inputs = [[self.tokenizer.begin_id, *ids[:-1]] for ids in targets]
                seen = record_decoder(self.model, encoder, decoder_inputs, request)
        make, interventions = self.trace_class.from_activations, read_all(decoding.interventions)
        traces = [
            make(seen.sentence(at), self.tokenizer, reading.text, ids, reading.origin, interventions)
            for at, (reading, ids) in enumerate(zip(readings, targets, strict=True))
        ]
        return traces, seen

    def _best_ids(
        self, readings: Sequence["_Reading"], strategy: Strategy, memory: torch.Tensor | None = None
    ) -> Sequence[Ids]:
        """Return the best hypothesis' ids of each sentence; `memory` is what the encoder made of them if it has run."""
        sources, prefixes = [each.source_ids for each in readings], [each.prefix_ids for each in readings]
        return best_ids(self.model, sources, strategy, prefixes, memory)


@dataclass(frozen=True)
class _Reading:
    """A text with its languages as the ids of its source, and of what its translation begins with or is."""

    text: str
    source_ids: Ids
    prefix_ids: Ids
    origin: Origin
    target_ids: Ids | None = None


def _batches(readings: Mapping[int, _Reading], size: int) -> Iterator[dict[int, _Reading]]:
    """Yield a few readings of like length at a time, by the index of their text."""
    indices = list(readings)
    for batch in batches_by_length([each.source_ids for each in readings.values()], size):
        yield {indices[at]: readings[indices[at]] for at in batch}
