"""What the app computes with a model once and shares among its users.

Each is asked by a frozen request, which is its key: a checkpoint as its files are now, or a `TranslationRequest`. So a
retrained checkpoint is computed anew, and all who ask for the same get the same, read-only. What cannot be had raises
UserError, which is not kept.
"""

import functools
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import streamlit as st

from headlight.app.entry import checkpoints_folder
from headlight.app.model_queue import Request, queue
from transformer import Beam, Greedy, Translator
from transformer.checkpoint import find_checkpoints, weights_digest
from transformer.corpus import (
    ALIGNMENT_FILE,
    ATLAS_FILE,
    ROLES_FILE,
    AlignmentTable,
    Atlas,
    HeadRoles,
    find_atlas,
    load_alignment,
    load_roles,
    plainest_head,
    roles_of,
)
from transformer.data.batching import SAMPLES, Example, Ids, read_samples
from transformer.decoding.beam import SearchRecord
from transformer.decoding.sampling import Hypothesis
from transformer.errors import CheckpointError, UserError
from transformer.interpret.activations import RESIDUAL_STREAM, Activations, Predictions
from transformer.interpret.residual import (
    ResidualStream,
    logit_lens,
    record_gates,
    record_hidden_units,
    residual_stream_of,
)
from transformer.interpret.trace import Trace
from transformer.interpret.what_if.intervention import INTERVENTIONS
from transformer.translator import Strategy

logger = logging.getLogger(__name__)

Measured = TypeVar("Measured")
TRACES = 32  # kept
SHORT = 200  # bytes of a text that is translated in a batch, which takes as long as its longest text
CHECKPOINTS = checkpoints_folder()


@dataclass(frozen=True)
class CheckpointFiles:
    """A checkpoint's folder, and its files with the time of their last change in nanoseconds."""

    folder: str
    written: tuple[tuple[str, int], ...]

    @classmethod
    def now(cls, folder: Path) -> "CheckpointFiles":
        """Read the times from the disk; none for a folder that is missing."""
        paths = [path for path in sorted(folder.glob("*")) if path.suffix != ".part" and path.is_file()]
        return cls(str(folder.absolute()), tuple((path.name, path.stat().st_mtime_ns) for path in paths))

    @property
    def name(self) -> str:
        return Path(self.folder).name


@dataclass(frozen=True)
class TranslationRequest:
    """Which translation is asked for: a checkpoint's of a text, found by a strategy.

    It begins with the token ids in `prefix`; `rank` says which of the search's hypotheses it is, 1 the best;
    `language` is the target's where the model has several, `source_language` the source's where it is told that,
    and `task` what the text then begins with for a model that is so told what to do.
    """

    checkpoint: CheckpointFiles
    text: str
    strategy: Strategy = Greedy()
    prefix: tuple[int, ...] = ()
    rank: int = 1
    language: str = ""
    source_language: str = ""
    task: str = ""

    @property
    def source(self) -> str:
        """What the translator reads: the text, and before it the languages or the task where they are chosen."""
        return translator(self.checkpoint).addressed(self.text, self.language, self.source_language, self.task)


# A request's text tells it from every other; Streamlit's own way to a key, field by field, takes half a millisecond.
# An intervention's fields alone, which Streamlit would take, do not tell Zero from Mean.
cached = functools.partial(
    st.cache_resource, hash_funcs=dict.fromkeys((CheckpointFiles, TranslationRequest, *INTERVENTIONS.values()), repr)
)


def checkpoint_names() -> list[str]:
    """Names of the checkpoint folders, those that are there now."""
    return [path.name for path in find_checkpoints(CHECKPOINTS)]


def checkpoint(name: str) -> CheckpointFiles:
    """A checkpoint as its files are now."""
    return CheckpointFiles.now(CHECKPOINTS / name)


@functools.lru_cache(maxsize=4)
def load_translator(checkpoint: CheckpointFiles) -> Translator:
    """Load the translator of a checkpoint; raises CheckpointError if its files have been written anew."""
    loaded = Translator.load(checkpoint.folder)
    if CheckpointFiles.now(Path(checkpoint.folder)) != checkpoint:
        raise CheckpointError(f"{checkpoint.folder} has been written anew.")
    return loaded


@cached(max_entries=4, show_spinner="Reading the checkpoint …")
def translator(checkpoint: CheckpointFiles) -> Translator:
    """The translator of a checkpoint."""
    return load_translator(checkpoint)


@cached(max_entries=4, show_spinner="Reading the sentence pairs …")
def samples(checkpoint: CheckpointFiles) -> tuple[Example, ...]:
    """The sentence pairs that come with a checkpoint, as its ids."""
    model, tokenizer = translator(checkpoint).model, translator(checkpoint).tokenizer
    return tuple(read_samples(Path(checkpoint.folder), tokenizer, model.config.max_length))


def has_samples(checkpoint: CheckpointFiles) -> bool:
    """Whether sentence pairs come with a checkpoint."""
    return (Path(checkpoint.folder) / SAMPLES).is_file()


@cached(max_entries=8, show_spinner=False)
def roles(checkpoint: CheckpointFiles) -> HeadRoles | None:
    """What the heads do over a corpus, by the atlas where there is one; None where it is nowhere or cannot be read."""
    if found := _if_there(checkpoint, ATLAS_FILE, lambda _: atlas(checkpoint)):
        return roles_of(found)
    return _if_there(checkpoint, ROLES_FILE, lambda path: load_roles(path, translator(checkpoint).model))


@cached(max_entries=4, show_spinner="Reading the atlas …")
def atlas(checkpoint: CheckpointFiles) -> Atlas | None:
    """The atlas of a checkpoint's heads, None where there is none; raises CheckpointError where it cannot be read."""
    return find_atlas(Path(checkpoint.folder), translator(checkpoint).model)


@cached(max_entries=16, show_spinner=False)
def weights(checkpoint: CheckpointFiles) -> str:
    """The SHA-256 of a checkpoint's weights, by which what was measured says of which weights it is."""
    return weights_digest(Path(checkpoint.folder))


@cached(max_entries=8, show_spinner=False)
def alignment(checkpoint: CheckpointFiles) -> AlignmentTable | None:
    """How well the heads align words, None where that was not measured, of other weights, or cannot be read."""
    found = _if_there(checkpoint, ALIGNMENT_FILE, lambda path: load_alignment(path, translator(checkpoint).model))
    return found if found and found.weights == weights(checkpoint) else None


def _if_there(checkpoint: CheckpointFiles, name: str, load: Callable[[Path], Measured]) -> Measured | None:
    """What a file beside the weights holds; a file that cannot be read is as good as none."""
    path = Path(checkpoint.folder) / name
    if not path.exists():
        return None
    try:
        return load(path)
    except CheckpointError as error:
        logger.warning("%s", error)
        return None


@cached(max_entries=32, show_spinner="Searching …")
def search(request: TranslationRequest) -> SearchRecord:
    """A beam search of a text: what ended, and what the beam held at each step."""
    return translator(request.checkpoint).beam_search(request.source, request.strategy, prefix=request.prefix)


@cached(max_entries=32, show_spinner="Searching …")
def hypotheses(request: TranslationRequest) -> tuple[Hypothesis, ...]:
    """The translations that the strategy found, best first; of a beam at most its size."""
    if isinstance(request.strategy, Beam):
        return search(request).ended[: request.strategy.size]
    return tuple(translator(request.checkpoint).hypotheses(request.source, request.strategy, prefix=request.prefix))


@cached(max_entries=TRACES, show_spinner="Translating …")
def trace(request: TranslationRequest, _decoded: Ids | None = None) -> Trace:
    """The translation with the attention of every head; of a beam that has fewer hypotheses, the last.

    _decoded: the ids of a greedy translation where they are known.
    """
    return queue.result(greedy_request(traces, request)) or recorded(request, _decoded)[0]


@cached(max_entries=4, show_spinner=False)  # of those whose pages are being drawn
def recorded(request: TranslationRequest, _decoded: Ids | None = None) -> tuple[Trace, Activations]:
    """The one pass over a text and its translation that the trace, the residual stream and each block are read from."""
    record = functools.partial(translator(request.checkpoint).record, request.source, keep=RESIDUAL_STREAM)
    if is_greedy(request):
        made = queue.result(greedy_request(traces, request))
        return record(decoded=made.target_ids if made else _decoded)
    if not isinstance(request.strategy, Beam):
        return record(request.strategy, prefix=request.prefix)
    found = hypotheses(replace(request, rank=1))
    return record(target=found[min(request.rank, len(found)) - 1])


@cached(max_entries=3 * TRACES, show_spinner=False)
def default_head(request: TranslationRequest, kind: str) -> tuple[int, int]:
    """Return the head of a kind to begin with, layer and head from 0: see `plainest_head`. Raises UserError."""
    return plainest_head(trace(request), kind, roles(request.checkpoint))


def traces(checkpoint: CheckpointFiles, texts: Sequence[str]) -> Iterator[Trace | None]:
    """Yield the trace of each text's greedy translation, None for a text that cannot be read.

    The texts are decoded together, but each is recorded in its own pass: no weight or probability depends on the other
    texts of the batch.
    """
    loaded = load_translator(checkpoint)
    readable = [text for text in texts if loaded.can_read(text)]
    ids = dict(zip(readable, loaded.best_ids(readable), strict=True)) if readable else {}
    for text in texts:
        yield loaded.record(text, decoded=ids[text])[0] if text in ids else None


def is_greedy(request: TranslationRequest) -> bool:
    """Whether nothing but greedy decoding is asked for, which is done for several at once."""
    return isinstance(request.strategy, Greedy) and not request.prefix


def greedy_request(
    compute: Callable[[CheckpointFiles, Sequence[str]], Iterable], request: TranslationRequest
) -> Request | None:
    """Return what the queue can compute for a request together with others: of a short text, translated greedily."""
    if not is_greedy(request) or len(request.text.encode("utf-8", "surrogatepass")) > SHORT:
        return None
    try:
        return Request(compute, request.checkpoint, request.source)
    except UserError:  # a language that is not there: the page says so
        return None


@cached(max_entries=16, show_spinner="Following the vectors …")
def residual_stream(request: TranslationRequest) -> ResidualStream:
    """Every vector of a text and its translation on the way through the model."""
    return residual_stream_of(translator(request.checkpoint).model, recorded(request)[1])


def hidden_units(request: TranslationRequest, stack: str, layer: int) -> np.ndarray:
    """The hidden units of one feed-forward for each token of a text, after its activation: [tokens, d_ff].

    `stack` is "encoder" or "decoder", the layer counts from 0.
    """
    sentence = trace(request)
    return record_hidden_units(
        translator(request.checkpoint).model, sentence.source_ids, sentence.decoder_input_ids, stack, layer
    )


def gates(request: TranslationRequest, stack: str, layer: int) -> tuple[np.ndarray, np.ndarray]:
    """The gates of one gated feed-forward, and what they are multiplied with: [tokens, d_ff] each, for each token."""
    sentence = trace(request)
    model = translator(request.checkpoint).model
    return record_gates(model, sentence.source_ids, sentence.decoder_input_ids, stack, layer)


@cached(max_entries=32, show_spinner="Reading every layer …")
def lens(request: TranslationRequest) -> Predictions:
    """What each decoder layer would have predicted for a text."""
    return logit_lens(translator(request.checkpoint).model, residual_stream(request), trace(request).target_ids)
