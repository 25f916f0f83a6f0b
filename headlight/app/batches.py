"""What is computed in batches for those who wait (see `model_queue`): greedy translations, and what early layers give.

The model's process imports this file, and with it nothing of the app but the model.
"""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from transformer import Trace, Translator
from transformer.checkpoint import HISTORY_FILE, TOKENIZER_FILES, WEIGHTS_FILE
from transformer.corpus.alignment.table import ALIGNMENT_FILE
from transformer.corpus.atlas.atlas import ATLAS_FILE
from transformer.corpus.head_roles import ROLES_FILE
from transformer.data.batching import SAMPLES
from transformer.data.tokenizer import source_ids
from transformer.decoding.sampling import Hypothesis
from transformer.errors import CheckpointError
from transformer.interpret.residual import MORE_TOKENS, decoder_lenses
from transformer.interpret.what_if.patching import PAIRS_FILE
from transformer.training.replay import REPLAY_FILE

FILES = (  # of a checkpoint
    "config.json",
    WEIGHTS_FILE,
    *TOKENIZER_FILES,
    "training.json",
    HISTORY_FILE,
    SAMPLES,
    REPLAY_FILE,
    ROLES_FILE,
    PAIRS_FILE,
    ATLAS_FILE,
    ALIGNMENT_FILE,
)


@dataclass(frozen=True)
class CheckpointFiles:
    """A checkpoint's folder, and when each of its files was last written, in nanoseconds: 0 where it is missing."""

    folder: str
    written: tuple[int, ...]

    @classmethod
    def now(cls, folder: Path) -> "CheckpointFiles":
        """Look when they were written."""
        return cls(str(folder.absolute()), tuple(_last_written(folder / name) for name in FILES))

    @property
    def name(self) -> str:
        return Path(self.folder).name


@functools.lru_cache(maxsize=4)
def load_translator(checkpoint: CheckpointFiles) -> Translator:
    """Return the translator of a checkpoint; raises CheckpointError if its files have been written anew."""
    translator = Translator.load(checkpoint.folder)
    if CheckpointFiles.now(Path(checkpoint.folder)) != checkpoint:
        raise CheckpointError(f"{checkpoint.folder} has been written anew.")
    return translator


def traces(checkpoint: CheckpointFiles, texts: Sequence[str]) -> Iterator[Trace | None]:
    """Yield the trace of each text's greedy translation, None for a text that cannot be read.

    They are decoded together, but each is recorded in its own pass: no weight or probability depends on whose sentences
    happened to be in the batch.
    """
    translator = load_translator(checkpoint)
    readable = [text for text in texts if translator.can_read(text)]
    ids = dict(zip(readable, translator.best_ids(readable), strict=True)) if readable else {}
    for text in texts:
        yield translator.record(text, decoded=ids[text])[0] if text in ids else None


def early_layers(checkpoint: CheckpointFiles, texts: Sequence[str]) -> Iterator[list[Hypothesis] | None]:
    """Yield the greedy translation of each text from each encoder layer: [layers + 1], the last the text's own.

    None for a text that cannot be read, and where the model is given its first token. In a batch log P may differ from
    that of a text alone in the sixth digit, as sums are then taken in another order.
    """
    translator = load_translator(checkpoint)
    reads = not translator.model.config.num_forced
    readable = [text for text in texts if reads and translator.can_read(text)]
    sources = [source_ids(translator.tokenizer, text) for text in readable]
    found = decoder_lenses(translator.model, sources, more=MORE_TOKENS) if readable else []
    yield from map(dict(zip(readable, found, strict=True)).get, texts)


def _last_written(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
