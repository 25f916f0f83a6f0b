"""Results of the model, cached and shared by all visitors, read-only.

The key of each is a frozen request: a checkpoint with the times of its files, or a `TranslationRequest`; a retrained
checkpoint is computed anew. Raises UserError for invalid requests; errors are not cached.
"""

import functools
import logging
from collections.abc import Callable, Iterator, Sequence
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
    AlignmentTable,
    Atlas,
    HeadRoles,
    find_atlas,
    load_alignment,
    plainest_head,
    roles_of,
)
from transformer.data.batching import SAMPLES, Example, read_samples
from transformer.decoding.beam import SearchRecord
from transformer.decoding.sampling import Hypothesis
from transformer.errors import CheckpointError, UserError
from transformer.files import read_object
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
TRACES = 32  # cached
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
    """Translation of a text by a checkpoint and a strategy.

    prefix: token ids at its beginning; rank: of the search's hypotheses, 1 the best; language, source_language: for a
    model with several; task: the instruction before the text, for a model with tasks.
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
        """The translator's input: the text after the chosen languages and task."""
        return translator(self.checkpoint).addressed(self.text, self.language, self.source_language, self.task)


# Streamlit's own keys, field by field, take half a millisecond, and do not tell the intervention Zero from Mean.
cached = functools.partial(
    st.cache_resource, hash_funcs=dict.fromkeys((CheckpointFiles, TranslationRequest, *INTERVENTIONS.values()), repr)
)


def checkpoint_names() -> list[str]:
    """Return the names of the checkpoints that exist now."""
    return [path.name for path in find_checkpoints(CHECKPOINTS)]


def checkpoint(name: str) -> CheckpointFiles:
    """Return a checkpoint with the present times of its files."""
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
    """Return the translator of a checkpoint."""
    return load_translator(checkpoint)


@cached(max_entries=4, show_spinner="Reading the sentence pairs …")
def samples(checkpoint: CheckpointFiles) -> tuple[Example, ...]:
    """Return the sentence pairs of a checkpoint as token ids."""
    model, tokenizer = translator(checkpoint).model, translator(checkpoint).tokenizer
    return tuple(read_samples(Path(checkpoint.folder), tokenizer, model.config.max_length))


@functools.lru_cache(maxsize=64)
def description(checkpoint: CheckpointFiles) -> dict:
    """Return the content of a checkpoint's training.json without reading its weights; empty without a readable file."""
    return _load_optional(checkpoint, "training.json", read_object) or {}


def has_samples(checkpoint: CheckpointFiles) -> bool:
    """Return whether a checkpoint has sentence pairs."""
    return (Path(checkpoint.folder) / SAMPLES).is_file()


@cached(max_entries=8, show_spinner=False)
def roles(checkpoint: CheckpointFiles) -> HeadRoles | None:
    """Return the roles of the heads over a corpus; None without a readable atlas."""
    table = _load_optional(checkpoint, ATLAS_FILE, lambda _: atlas(checkpoint))
    return roles_of(table) if table else None


@cached(max_entries=4, show_spinner="Reading the atlas …")
def atlas(checkpoint: CheckpointFiles) -> Atlas | None:
    """Return the atlas of a checkpoint's heads, None without one. Raises CheckpointError for an unreadable file."""
    return find_atlas(Path(checkpoint.folder), translator(checkpoint).model)


@cached(max_entries=16, show_spinner=False)
def weights(checkpoint: CheckpointFiles) -> str:
    """Return the SHA-256 of a checkpoint's weights, which measured files contain."""
    return weights_digest(Path(checkpoint.folder))


@cached(max_entries=8, show_spinner=False)
def alignment(checkpoint: CheckpointFiles) -> AlignmentTable | None:
    """Return the alignment errors of the heads, None without a readable file of these weights."""
    table = _load_optional(checkpoint, ALIGNMENT_FILE, lambda path: load_alignment(path, translator(checkpoint).model))
    return table if table and table.weights == weights(checkpoint) else None


def _load_optional(checkpoint: CheckpointFiles, name: str, load: Callable[[Path], Measured]) -> Measured | None:
    """Load a file beside the weights; None for a missing or unreadable one."""
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
    """Return the record of a beam search: its ended hypotheses, and the beam of each step."""
    return translator(request.checkpoint).beam_search(request.source, request.strategy, prefix=request.prefix)


@cached(max_entries=32, show_spinner="Searching …")
def hypotheses(request: TranslationRequest) -> tuple[Hypothesis, ...]:
    """Return the translations that the strategy finds, best first; of a beam at most its size."""
    if isinstance(request.strategy, Beam):
        return search(request).ended[: request.strategy.size]
    return tuple(translator(request.checkpoint).hypotheses(request.source, request.strategy, prefix=request.prefix))


@cached(max_entries=TRACES, show_spinner="Translating …")
def trace(request: TranslationRequest) -> Trace:
    """Return the translation with the attention of every head; of a beam with fewer hypotheses, the last."""
    return queue.result(greedy_request(request)) or recorded(request)[0]


@cached(max_entries=4, show_spinner=False)  # of pages being drawn
def recorded(request: TranslationRequest) -> tuple[Trace, Activations]:
    """Record the one pass over a text and its translation from which trace, residual stream and blocks are read."""
    record = functools.partial(translator(request.checkpoint).record, request.source, keep=RESIDUAL_STREAM)
    if is_greedy(request):
        batched = queue.result(greedy_request(request))
        return record(decoded=batched.target_ids if batched else None)
    if not isinstance(request.strategy, Beam):
        return record(request.strategy, prefix=request.prefix)
    ranked = hypotheses(replace(request, rank=1))
    return record(target=ranked[min(request.rank, len(ranked)) - 1])


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
    """Return whether a request is for greedy decoding without a prefix, which is done in batches."""
    return isinstance(request.strategy, Greedy) and not request.prefix


def greedy_request(request: TranslationRequest) -> Request | None:
    """Return the queue's request for the trace of a short text that is translated greedily, None for others."""
    if not is_greedy(request) or len(request.text.encode("utf-8", "surrogatepass")) > SHORT:
        return None
    try:
        return Request(traces, request.checkpoint, request.source)
    except UserError:  # an unknown language: the page reports it
        return None


@cached(max_entries=16, show_spinner="Following the vectors …")
def residual_stream(request: TranslationRequest) -> ResidualStream:
    """Return every vector of a text and its translation between the blocks of the model."""
    return residual_stream_of(translator(request.checkpoint).model, recorded(request)[1])


def hidden_units(request: TranslationRequest, stack: str, layer: int) -> np.ndarray:
    """Return the hidden units of one feed-forward for each token of a text, after its activation: [tokens, d_ff].

    `stack` is "encoder" or "decoder", the layer counts from 0.
    """
    sentence = trace(request)
    return record_hidden_units(
        translator(request.checkpoint).model, sentence.source_ids, sentence.decoder_input_ids, stack, layer
    )


def gates(request: TranslationRequest, stack: str, layer: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the gates of one gated feed-forward and the values that they multiply: [tokens, d_ff] each."""
    sentence = trace(request)
    model = translator(request.checkpoint).model
    return record_gates(model, sentence.source_ids, sentence.decoder_input_ids, stack, layer)


@cached(max_entries=32, show_spinner="Reading every layer …")
def lens(request: TranslationRequest) -> Predictions:
    """Return the predictions of each decoder layer for a text."""
    return logit_lens(translator(request.checkpoint).model, residual_stream(request), trace(request).target_ids)
