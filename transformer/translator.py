"""Translator: a checkpoint with its verbs, for notebooks, scripts, the command line and the app."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

import torch

from .checkpoint import Checkpoint, load_checkpoint, locate, placed
from .data.batching import Ids, batches_by_length, make_examples
from .data.pairs import TextPairs
from .data.reading import TextReader
from .decoding.beam import Beam, SearchRecord, beam_search, best_ids, recorded_beam_search, strategy_for
from .decoding.sampling import Greedy, Hypothesis, Sampling, decode, length_limits
from .errors import TooLongError
from .interpret.activations import ATTENTION, Activations, Request, record_decoder, record_encoder
from .interpret.trace import Trace, make_trace
from .interpret.what_if.head_means import HeadMeans
from .interpret.what_if.importance import HeadImportance
from .interpret.what_if.running import Asked, intervened, read_all
from .model.device import choose_device, keep_freed_memory

Strategy = Greedy | Sampling | Beam

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
        placed(checkpoint.model, chosen)
        return cls(checkpoint)

    def translate(
        self,
        texts: Sequence[str],
        beam: int = 1,
        *,
        strategy: Strategy | None = None,
        progress: Callable[[int], None] | None = None,
        target_language: str | None = None,
        source_language: str | None = None,
        interventions: Asked = (),
        means: HeadMeans | None = None,
    ) -> list[str]:
        """The translation of each text, order kept. `beam` 1 is greedy; `strategy` overrides it.

        `progress` is called after each batch with the number of texts done; the languages, for a model that has
        several: see `addressed`; interventions and means: what the model runs under, see `intervened`. Raises
        EmptyTextError or TooLongError, before anything is translated, for a text that cannot be, and ValueError for one
        text in place of a list.
        """
        texts = [self.addressed(text, target_language, source_language) for text in self._texts(texts)]
        sources, given = [self._source_ids(text) for text in texts], [self._given(text) for text in texts]
        strategy = strategy or strategy_for(beam)
        batch = max(1, _BATCH // strategy.size) if isinstance(strategy, Beam) else _BATCH
        translations: dict[int, str] = {}
        for indices in batches_by_length(sources, batch):
            some, prefixes = [sources[index] for index in indices], [given[index] for index in indices]
            with intervened(self.model, interventions, means):
                found = self._best_ids(some, strategy, prefixes)
            for index, ids in zip(indices, found, strict=True):
                translations[index] = self.tokenizer.decode(ids)
            if progress:
                progress(len(translations))
        return [translations[index] for index in range(len(sources))]

    def best_ids(self, texts: Sequence[str], strategy: Strategy | None = None) -> list[tuple[int, ...]]:
        """The best translation of each of a few texts as token ids, decoded in one batch; raises as `translate`."""
        sources, given = [self._source_ids(text) for text in texts], [self._given(text) for text in texts]
        return [tuple(ids) for ids in self._best_ids(sources, strategy or Greedy(), given)]

    def hypotheses(
        self,
        text: str,
        strategy: Strategy | None = None,
        prefix: str | Ids = (),
        *,
        interventions: Asked = (),
        means: HeadMeans | None = None,
    ) -> list[Hypothesis]:
        """The translations that the search found for one text, best first: one, or up to the beam's size."""
        strategy = strategy or Greedy()
        with intervened(self.model, interventions, means):
            return self._search([self._source_ids(text)], strategy, [self._prefix_ids(prefix, text)])[0]

    def beam_search(
        self,
        text: str,
        beam: Beam,
        prefix: str | Ids = (),
        *,
        interventions: Asked = (),
        means: HeadMeans | None = None,
    ) -> SearchRecord:
        """All translations of one text that the search found, and what the beam held at each step."""
        source, prefix_ids = self._source_ids(text), self._prefix_ids(prefix, text)
        self._check_prefixes([source], [prefix_ids])
        with intervened(self.model, interventions, means):
            return recorded_beam_search(self.model, [source], beam, [prefix_ids])[0]

    def trace(
        self,
        text: str,
        *,
        target: str | Ids | Hypothesis | None = None,
        prefix: str | Ids = (),
        beam: int = 1,
        strategy: Strategy | None = None,
        target_language: str | None = None,
        source_language: str | None = None,
        interventions: Asked = (),
        means: HeadMeans | None = None,
    ) -> Trace:
        """Every attention weight of one sentence: of its decoded translation, or of a `target` given.

        A decoded translation may be made to begin with `prefix` (text or ids). A target is a text, one of the
        `hypotheses` that a search has found, or a translation's ids. The source is encoded once; the target is replayed
        in one teacher-forced pass, which gives the same attention as its decoding did. All of it runs under the
        `interventions`, given as such or as their texts, `trace.interventions` then (see `intervened`). Raises
        EmptyTextError, TooLongError, InterventionError, and ValueError for a target and a prefix at once or ids that
        are none or not the model's.
        """
        text = self.addressed(text, target_language, source_language)
        strategy = strategy or strategy_for(beam)
        return self.recorded(
            text, target=target, prefix=prefix, strategy=strategy, interventions=interventions, means=means
        )[0]

    def recorded(
        self,
        text: str,
        *,
        keep: tuple[str, ...] = (),
        target: str | Ids | Hypothesis | None = None,
        decoded: Ids | None = None,
        prefix: str | Ids = (),
        strategy: Strategy | None = None,
        interventions: Asked = (),
        means: HeadMeans | None = None,
    ) -> tuple[Trace, Activations]:
        """A `trace`, and the pass that it was read from, which kept the calls of the modules in `keep` as well.

        Of a text that names its languages itself, where the model has several. `decoded`: the ids of the translation,
        where it has been decoded before. Raises as `trace`.
        """
        if target is not None and len(prefix):
            raise ValueError("a trace takes a target or a prefix, not both")
        pieces, source_ids, prefix_ids = self.pieces(text), self._source_ids(text), self._prefix_ids(prefix, text)
        request, asked = Request(keep=(*ATTENTION, *keep)), read_all(interventions)
        is_given = target is not None and not isinstance(target, Hypothesis)
        origin = "target" if is_given else "prefix" if len(prefix) else "decoded"
        target = decoded if target is None else target
        target_ids = None if target is None else self._target_ids(target, text)
        with intervened(self.model, asked, means):
            encoder = record_encoder(self.model, [source_ids], request)
            if target_ids is None:
                (target_ids,) = self._best_ids([source_ids], strategy or Greedy(), [prefix_ids], encoder.memory)
            fed = [self.tokenizer.begin_id, *target_ids[:-1]]
            activations = record_decoder(self.model, encoder, [fed], request)
        made = make_trace(
            activations, self.tokenizer, text, pieces, target_ids, origin, asked, trace_class=self.trace_class
        )
        return made, activations

    def trace_many(
        self, texts: Sequence[str], beam: int = 1, *, progress: Callable[[int], None] | None = None
    ) -> list[Trace]:
        """The trace of each text's decoded translation, in batches, order kept; errors as `translate`."""
        texts = self._texts(texts)
        pieces, sources = [self.pieces(text) for text in texts], [self._source_ids(text) for text in texts]
        traces: dict[int, Trace] = {}
        for indices in batches_by_length(sources, _TRACED):
            batch, prefixes = [sources[index] for index in indices], [self._given(texts[index]) for index in indices]
            encoder = record_encoder(self.model, batch)
            ids = self._best_ids(batch, strategy_for(beam), prefixes, encoder.memory)
            seen = record_decoder(self.model, encoder, [[self.tokenizer.begin_id, *each[:-1]] for each in ids])
            for at, index in enumerate(indices):
                traces[index] = make_trace(
                    seen,
                    self.tokenizer,
                    texts[index],
                    pieces[index],
                    ids[at],
                    "decoded",
                    at=at,
                    trace_class=self.trace_class,
                )
            if progress:
                progress(len(traces))
        return [traces[index] for index in range(len(texts))]

    def head_importance(self, pairs: TextPairs, *, progress: Callable[[int], None] | None = None) -> HeadImportance:
        """What each head alone is worth over sentence pairs: the loss in log-probability of a target token without it.

        Raises DataError where no pair fits the model. `progress` is called with the number of sentences done.
        """
        from .interpret.what_if.corpus_importance import measure_importance  # not needed to translate

        examples = make_examples(pairs, self.tokenizer, self.model.config.max_length)
        return measure_importance(self.model, examples, progress=progress)

    def _target_ids(self, target: str | Ids | Hypothesis, text: str) -> list[int]:
        if not isinstance(target, str):
            return self._known_target(target.ids if isinstance(target, Hypothesis) else target)
        ids = self._checked_ids(target, "target", self.tokenizer.encode_target)
        return [*self._given(text), *ids, self.tokenizer.end_id]

    def _search(self, sources: Sequence[Ids], strategy: Strategy, prefixes: Sequence[Ids]) -> list[list[Hypothesis]]:
        self._check_prefixes(sources, prefixes)
        if isinstance(strategy, Beam):
            return beam_search(self.model, sources, strategy, prefixes)
        return [[hypothesis] for hypothesis in decode(self.model, sources, strategy, prefixes)]

    def _best_ids(
        self, sources: Sequence[Ids], strategy: Strategy, prefixes: Sequence[Ids], memory: torch.Tensor | None = None
    ) -> list[list[int]]:
        """The best hypothesis' ids of each sentence; `memory` is what the encoder made of them, if it has run."""
        self._check_prefixes(sources, prefixes)
        return best_ids(self.model, sources, strategy, prefixes, memory)

    def _check_prefixes(self, sources: Sequence[Ids], prefixes: Sequence[Ids]) -> None:
        """Refuse a prefix that leaves a translation nothing to add."""
        for limit, prefix in zip(length_limits(self.model, sources), prefixes, strict=True):
            if len(prefix) >= limit:
                raise TooLongError(f"The prefix has {len(prefix)} tokens, more than this translation may have.")
