"""Results of the model, cached and shared by all visitors, read-only: checkpoints, their files, and studies of texts.

The key of each is a frozen request: a checkpoint with the times of its files, or a `TranslationRequest`; a retrained
checkpoint is computed anew. Raises UserError for invalid requests; errors are not cached.
"""

import functools
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import streamlit as st

from headlight.app.entry import checkpoints_folder
from headlight.app.finding import Templates
from headlight.app.model_queue import Request, queue
from transformer import Beam, Decoding, Greedy, Translator
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
from transformer.errors import CheckpointError, UserError
from transformer.files import read_object
from transformer.interpret.study import Study
from transformer.interpret.trace import Trace
from transformer.interpret.what_if.running import Means, measure_means
from transformer.model.heads import Head
from transformer.translator import Strategy

logger = logging.getLogger(__name__)

Measured = TypeVar("Measured")
STUDIES = 32  # cached
SENTENCES_OF_MEANS = 200
SHORT = 200  # bytes of a text that is translated in a batch, which takes as long as its longest text
CHECKPOINTS = checkpoints_folder()
TEMPLATES = Templates.beside(__file__)


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


# Streamlit's own keys, field by field, take half a millisecond.
cached = functools.partial(st.cache_resource, hash_funcs=dict.fromkeys((CheckpointFiles, TranslationRequest), repr))


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


def _drop_studies(_released: Translator) -> None:
    """Empty the cache of studies when a translator leaves its cache: a study holds its translator in memory."""
    study.clear()


@cached(max_entries=4, show_spinner=TEMPLATES.notice("checkpoint"), on_release=_drop_studies)
def translator(checkpoint: CheckpointFiles) -> Translator:
    """Return the translator of a checkpoint."""
    return load_translator(checkpoint)


@cached(max_entries=4, show_spinner=TEMPLATES.notice("pairs"))
def samples(checkpoint: CheckpointFiles) -> tuple[Example, ...]:
    """Return the sentence pairs of a checkpoint as token ids."""
    model, tokenizer = translator(checkpoint).model, translator(checkpoint).tokenizer
    return tuple(read_samples(Path(checkpoint.folder), tokenizer, model.config.max_length))


@functools.lru_cache(maxsize=64)
def description(checkpoint: CheckpointFiles) -> dict:
    """Return the content of a checkpoint's training.json without reading its weights; empty without a readable file."""
    return load_optional(checkpoint, "training.json", read_object) or {}


def has_samples(checkpoint: CheckpointFiles) -> bool:
    """Return whether a checkpoint has sentence pairs."""
    return (Path(checkpoint.folder) / SAMPLES).is_file()


@cached(max_entries=8, show_spinner=False)
def roles(checkpoint: CheckpointFiles) -> HeadRoles | None:
    """Return the roles of the heads over a corpus; None without a readable atlas."""
    table = load_optional(checkpoint, ATLAS_FILE, lambda _: atlas(checkpoint))
    return roles_of(table) if table else None


@cached(max_entries=4, show_spinner=TEMPLATES.notice("atlas"))
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
    table = load_optional(checkpoint, ALIGNMENT_FILE, lambda path: load_alignment(path, translator(checkpoint).model))
    return table if table and table.weights == weights(checkpoint) else None


def load_optional(checkpoint: CheckpointFiles, name: str, load: Callable[[Path], Measured]) -> Measured | None:
    """Load a file beside the weights; None for a missing or unreadable one."""
    path = Path(checkpoint.folder) / name
    if not path.exists():
        return None
    try:
        return load(path)
    except CheckpointError as error:
        logger.warning("%s", error)
        return None


@cached(max_entries=4, show_spinner=TEMPLATES.notice("means"))
def head_means(checkpoint: CheckpointFiles) -> Means:
    """Return each head's mean output over a checkpoint's first sentence pairs; raises CheckpointError without any."""
    return measure_means(translator(checkpoint).model, samples(checkpoint)[:SENTENCES_OF_MEANS])


@cached(max_entries=STUDIES, show_spinner=TEMPLATES.notice("study"))
def study(request: TranslationRequest) -> Study:
    """Return the translation with all measures of it; of a beam with fewer hypotheses, the last one's."""
    if isinstance(request.strategy, Beam) and request.rank > 1:
        return study(replace(request, rank=1)).ranked(request.rank)
    decoding = Decoding(request.strategy, request.prefix)
    loaded, decoded = translator(request.checkpoint), queue.result(greedy_request(request))
    means = functools.partial(head_means, request.checkpoint)
    return replace(loaded.study(source(request), decoding, decoded=decoded), watch=_notice, measure_means=means)


def _notice(measure: str) -> AbstractContextManager[object]:
    """Show a notice while a study computes a measure, if there is one because it takes long."""
    name = f"measure_{measure}"
    return st.spinner(TEMPLATES.text(name)) if name in TEMPLATES.texts else nullcontext()


def trace(request: TranslationRequest) -> Trace:
    """Return the translation with the attention of every head."""
    return study(request).trace


@cached(max_entries=3 * STUDIES, show_spinner=False)
def default_head(request: TranslationRequest, kind: str) -> Head:
    """Return the head of a kind to begin with, see `plainest_head`. Raises UserError."""
    return plainest_head(trace(request), kind, roles(request.checkpoint))


def source(request: TranslationRequest) -> str:
    """Return the translator's input: the text after the chosen languages and task. Loads the checkpoint."""
    loaded = translator(request.checkpoint)
    return loaded.addressed(request.text, request.language, request.source_language, request.task)


def target_ids(checkpoint: CheckpointFiles, texts: Sequence[str]) -> Iterator[tuple[int, ...] | None]:
    """Yield the ids of each text's greedy translation, decoded together; None for a text that cannot be read."""
    loaded = load_translator(checkpoint)
    readable = [text for text in texts if loaded.can_read(text)]
    ids = dict(zip(readable, loaded.best_ids(readable), strict=True)) if readable else {}
    yield from map(ids.get, texts)


def greedy_request(request: TranslationRequest) -> Request | None:
    """Return the queue's request for a short text that is translated greedily without a prefix, None for others."""
    is_long = len(request.text.encode("utf-8", "surrogatepass")) > SHORT
    if is_long or request.prefix or not isinstance(request.strategy, Greedy):
        return None
    try:
        return Request(target_ids, request.checkpoint, source(request))
    except UserError:  # an unknown language: the page reports it
        return None
