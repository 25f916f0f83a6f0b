"""Translator: a checkpoint with its verbs, for notebooks, scripts, the command line and the app."""

from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor

from .checkpoint import Checkpoint, load_checkpoint, locate, placed
from .data.batching import Ids, batches_by_length, make_examples
from .data.pairs import TextPairs
from .data.tokenizer import Piece, unknown_parts, well_formed
from .decoding.beam import Beam, SearchRecord, beam_search, recorded_beam_search, strategy_for
from .decoding.sampling import Greedy, Hypothesis, Sampling, decode, length_limits
from .errors import EmptyTextError, TooLongError, UserError
from .interpret.activations import record_decoder, record_encoder
from .interpret.trace import Trace, make_trace
from .interpret.what_if.head_means import HeadMeans
from .interpret.what_if.importance import HeadImportance
from .interpret.what_if.running import Asked, intervened, read_all
from .model.device import choose_device, keep_freed_memory

Strategy = Greedy | Sampling | Beam

_BATCH = 64  # sentences (times beam size) decoded side by side
_TRACED = 16  # the same, every attention kept
_MAX_CHARACTERS_A_TOKEN = 64  # a longer text is refused before it is tokenized


class Translator:
    """Translates, and shows how. Safe to share between threads."""

    def __init__(self, checkpoint: Checkpoint):
        self.checkpoint = checkpoint
        self.model = checkpoint.model.eval()
        self.tokenizer = checkpoint.tokenizer
        # Positions that are not for pieces: on both sides the end of sentence's, and a language's where there is one.
        self._special_tokens = max(sum(map(len, self.tokenizer.frame(""))), 1 + len(self.tokenizer.given("")))

    @classmethod
    def load(cls, folder: str | Path, device: str | torch.device | None = None) -> "Translator":
        """Read a checkpoint, a folder or the name of a shipped one ("en-de"), onto a device (see `choose_device`).

        Raises CheckpointError or DeviceError.
        """
        chosen = choose_device(str(device) if device else None)
        keep_freed_memory()
        return cls(load_checkpoint(locate(folder), chosen))

    @classmethod
    def import_from(cls, name: str | Path, device: str | torch.device | None = None) -> "Translator":
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
        EmptyTextError or TooLongError, before anything is translated, for a text that cannot be.
        """
        texts = [self.addressed(text, target_language, source_language) for text in texts]
        sources, given = [self._source_ids(text) for text in texts], [self._given(text) for text in texts]
        strategy = strategy or strategy_for(beam)
        batch = max(1, _BATCH // strategy.size) if isinstance(strategy, Beam) else _BATCH
        translations: dict[int, str] = {}
        for indices in batches_by_length(sources, batch):
            prefixes = [given[index] for index in indices]
            with intervened(self.model, interventions, means):
                found = self._search([sources[index] for index in indices], strategy, prefixes)
            for index, hypotheses in zip(indices, found, strict=True):
                translations[index] = self.tokenizer.decode(hypotheses[0].ids)
            if progress:
                progress(len(translations))
        return [translations[index] for index in range(len(sources))]

    def best(self, texts: Sequence[str], strategy: Strategy | None = None) -> list[Hypothesis]:
        """The best hypothesis for each of a few texts, in one batch; raises as `translate`."""
        sources, given = [self._source_ids(text) for text in texts], [self._given(text) for text in texts]
        return [hypotheses[0] for hypotheses in self._search(sources, strategy or Greedy(), given)]

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
        target: str | Hypothesis | None = None,
        prefix: str | Ids = (),
        beam: int = 1,
        strategy: Strategy | None = None,
        target_language: str | None = None,
        source_language: str | None = None,
        interventions: Asked = (),
        means: HeadMeans | None = None,
    ) -> Trace:
        """Every attention weight of one sentence: of its decoded translation, or of a `target` given.

        A decoded translation may be made to begin with `prefix` (text or ids). A target is a text, or one of the
        `hypotheses` that a search has found. The source is encoded once; the target is replayed in one teacher-forced
        pass, which gives the same attention as its decoding did. All of it runs under the `interventions`, given as
        such or as their texts, `trace.interventions` then (see `intervened`). Raises EmptyTextError, TooLongError,
        InterventionError, and ValueError for a target and a prefix at once or ids that are not the model's.
        """
        if target is not None and len(prefix):
            raise ValueError("a trace takes a target or a prefix, not both")
        text = self.addressed(text, target_language, source_language)
        pieces, source_ids = self.pieces(text), self._source_ids(text)
        prefix_ids, target_ids = self._prefix_ids(prefix, text), self._target_ids(target, text)
        origin, asked = "target" if isinstance(target, str) else "decoded", read_all(interventions)
        with intervened(self.model, asked, means):
            encoder = record_encoder(self.model, [source_ids])
            if target_ids is None:
                found = self._search([source_ids], strategy or strategy_for(beam), [prefix_ids], encoder.memory)
                target_ids, origin = list(found[0][0].ids), "prefix" if len(prefix) else "decoded"
            activations = record_decoder(self.model, encoder, [[self.tokenizer.begin_id, *target_ids[:-1]]])
        return make_trace(activations, self.tokenizer, text, pieces, target_ids, origin, asked)

    def trace_many(
        self, texts: Sequence[str], beam: int = 1, *, progress: Callable[[int], None] | None = None
    ) -> list[Trace]:
        """The trace of each text's decoded translation, in batches, order kept; arguments and errors as `translate`."""
        pieces, sources = [self.pieces(text) for text in texts], [self._source_ids(text) for text in texts]
        traces: dict[int, Trace] = {}
        for indices in batches_by_length(sources, _TRACED):
            batch, prefixes = [sources[index] for index in indices], [self._given(texts[index]) for index in indices]
            encoder = record_encoder(self.model, batch)
            ids = [found[0].ids for found in self._search(batch, strategy_for(beam), prefixes, encoder.memory)]
            seen = record_decoder(self.model, encoder, [[self.tokenizer.begin_id, *each[:-1]] for each in ids])
            for at, index in enumerate(indices):
                traces[index] = make_trace(seen, self.tokenizer, texts[index], pieces[index], ids[at], "decoded", at=at)
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

    def addressed(self, text: str, target_language: str | None, source_language: str | None = None) -> str:
        """The text with the languages that a model of several is told: ">>deu<< A sentence.".

        Unchanged without a language, or where the text is empty or names one itself. Raises UserError for a language
        that is not there.
        """
        wanted = (
            ("target", target_language, self.tokenizer.languages, "it translates into one language"),
            ("source", source_language, self.tokenizer.source_languages, "it is not told which it reads"),
        )
        for side, language, languages, otherwise in wanted:
            if language and text.strip() and not text.startswith(">>") and language not in languages:
                which = f"choose among {', '.join(languages)}" if languages else otherwise
                raise UserError(f"The model has no {side} language {language!r}: {which}.")
        return self.tokenizer.address(text, target_language or "", source_language or "") if text.strip() else text

    def pieces(self, text: str) -> list[Piece]:
        """The pieces of a text with ids and the characters they cover; raises EmptyTextError or TooLongError."""
        self._checked_ids(text, "text")
        return self.tokenizer.pieces(well_formed(text))

    def can_read(self, text: str) -> bool:
        """True for a text that is neither empty nor too long."""
        return self._is_readable(text)

    def can_be_given(self, target: str) -> bool:
        """The same of a text as the `target` of a trace."""
        return self._is_readable(target, self.tokenizer.encode_target)

    def may_begin_with(self, prefix: Ids) -> bool:
        """True where these ids can begin a translation: pieces of the vocabulary, and the end only as the last."""
        config = self.model.config
        return (
            0 < len(prefix) < config.max_length
            and all(0 <= id < config.output_size and id not in config.never_chosen for id in prefix)
            and config.end_id not in prefix[:-1]
        )

    def unknown_characters(self, text: str) -> list[str]:
        """The parts of a text that the tokenizer has never seen, in order, each once: the model reads them as <unk>."""
        return unknown_parts(self.tokenizer, well_formed(text))

    def _is_readable(self, text: str, encode: Callable[[str], list[int]] | None = None) -> bool:
        try:
            return bool(self._checked_ids(text, "text", encode))
        except (EmptyTextError, TooLongError):
            return False

    def _source_ids(self, text: str) -> list[int]:
        before, after = self.tokenizer.frame(text)
        return [*before, *self._checked_ids(text, "text"), *after]

    def _given(self, text: str) -> list[int]:
        return list(self.tokenizer.given(text))

    def _target_ids(self, target: str | Hypothesis | None, text: str) -> list[int] | None:
        if target is None:
            return None
        if isinstance(target, str):
            ids = self._checked_ids(target, "target", self.tokenizer.encode_target)
            return [*self._given(text), *ids, self.tokenizer.end_id]
        return self._known(target.ids)

    def _known(self, ids: Ids) -> list[int]:
        """The ids as a list of int; raises ValueError where one is not in the vocabulary."""
        known, size = list(map(int, ids)), self.model.config.output_size
        if not all(0 <= id < size for id in known):
            raise ValueError(f"ids must be in 0 to {size - 1}, got {known}")
        return known

    def _prefix_ids(self, prefix: str | Ids, text: str) -> list[int]:
        """What a translation begins with: what is given, then a text's ids; where ids are asked for, these alone."""
        if isinstance(prefix, str):
            ids = [*self._given(text), *self.tokenizer.encode_target(well_formed(prefix))]
        else:
            ids = self._known(prefix) or self._given(text)
        if len(ids) >= self.model.config.max_length:
            raise TooLongError(f"The prefix has {len(ids)} tokens; the model has {self.model.config.max_length}.")
        return ids

    def _checked_ids(self, text: str, name: str, encode: Callable[[str], list[int]] | None = None) -> list[int]:
        """The ids of a text, refused when there are none or too many for the model's positions."""
        limit = self.model.config.max_length - self._special_tokens
        if len(text) > limit * _MAX_CHARACTERS_A_TOKEN:
            raise TooLongError(f"The {name} has {len(text):,} characters; the model reads at most {limit} tokens.")
        ids = (encode or self.tokenizer.encode)(well_formed(text))
        if not ids or not text.strip():  # of blanks alone, some tokenizers make tokens
            raise EmptyTextError(f"The {name} is empty: please write a sentence.")
        if len(ids) > limit:
            raise TooLongError(f"The {name} has {len(ids)} tokens; the model reads at most {limit}. Please shorten it.")
        return ids

    def _search(
        self, sources: Sequence[Ids], strategy: Strategy, prefixes: Sequence[Ids] | None, memory: Tensor | None = None
    ) -> list[list[Hypothesis]]:
        self._check_prefixes(sources, prefixes)
        if isinstance(strategy, Beam):
            return beam_search(self.model, sources, strategy, prefixes, memory)
        return [[hypothesis] for hypothesis in decode(self.model, sources, strategy, prefixes, memory)]

    def _check_prefixes(self, sources: Sequence[Ids], prefixes: Sequence[Ids] | None) -> None:
        """Refuse a prefix that leaves a translation nothing to add."""
        for limit, prefix in zip(length_limits(self.model, sources), prefixes or [()] * len(sources), strict=True):
            if len(prefix) >= limit:
                raise TooLongError(f"The prefix has {len(prefix)} tokens, more than this translation may have.")
