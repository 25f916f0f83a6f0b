"""The importance of every head over a corpus: batch by batch, by several processes, stopped and resumed."""

import csv
import io
import logging
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from ...data.batching import Examples, epoch_batches, make_examples
from ...data.pairs import TextPairs
from ...data.tokenizer import TextTokenizer
from ...errors import CheckpointError, ConfigError
from ...files import load_checksummed, save_checksummed, write_atomically
from ...model.distributed import Processes
from ...model.transformer import Transformer
from .head_means import HeadMeans
from .importance import Ablate, HeadImportance, every_head, mean_importance, summed_losses
from .intervention import Zero

logger = logging.getLogger(__name__)

_TOKENS_A_BATCH = 512  # a pass for each head: small enough that seconds, not minutes, are lost when it is stopped


class SavedSums:
    """What was measured so far, on disk: sums over the first `rounds` rounds, and how many tokens and sentences."""

    def __init__(self, path: Path, fingerprint: int):
        self.path, self.fingerprint = Path(path), fingerprint

    def save(self, sums: np.ndarray, rounds: int) -> None:
        """Write them whole; raises OSError."""
        counts = torch.tensor([rounds, self.fingerprint])
        save_checksummed(self.path, {"sums": torch.from_numpy(sums), "counts": counts})

    def load(self) -> tuple[np.ndarray, int]:
        """What `save` wrote; raises CheckpointError for a damaged file, or one of another model or corpus."""
        found = load_checksummed(self.path)
        rounds, fingerprint = found["counts"].tolist()
        if fingerprint != self.fingerprint:
            raise CheckpointError(f"{self.path} was measured with another model, other pairs or other batches.")
        return found["sums"].numpy().copy(), rounds


def measure_importance(
    model: Transformer,
    examples: Examples,
    ablate: Ablate = Zero,
    means: HeadMeans | None = None,
    *,
    saved: Path | None = None,
    resume: bool = False,
    processes: Processes | None = None,
    progress: Callable[[int], None] | None = None,
) -> HeadImportance:
    """The mean loss of a scored target token's log P without each head, targets teacher-forced.

    `progress` is told how many sentences are done. saved: a file for what is done so far, deleted in the end; with
    `resume` it is gone on with, where it is there. With several processes all call this alike, each takes its share of
    the batches, and all get the same. Raises ValueError without examples, ConfigError where `saved` is there and is not
    to be resumed, CheckpointError where it is of something else, and OSError where it cannot be written.
    """
    if not examples:
        raise ValueError("at least one sentence pair expected")
    processes = processes or Processes()
    batches = epoch_batches(examples, _TOKENS_A_BATCH, 0.0, model.config.max_length, seed=0)
    rounds = [batches[first : first + processes.count] for first in range(0, len(batches), processes.count)]
    sums, done = np.zeros(len(every_head(model)) + 1), 0
    store = None if saved is None else SavedSums(saved, _fingerprint(model, examples, ablate, processes.count))
    if store is not None and store.path.exists():
        if not resume:
            raise ConfigError(f"{saved} holds an unfinished measurement; give --resume to go on, or another --out.")
        sums, done = store.load()
    sentences = sum(len(batch) for some in rounds[:done] for batch in some)
    for number, some in enumerate(rounds[done:], start=done + 1):
        own = sum((summed_losses(model, batch, ablate, means) for batch in processes.share(some)), np.zeros_like(sums))
        sums = sums + np.array(processes.sums(*own))
        sentences += sum(map(len, some))
        if store is not None and processes.first:
            store.save(sums, number)
        if progress and processes.first:
            progress(sentences)
    processes.wait()
    if store is not None and processes.first:
        store.path.unlink(missing_ok=True)
    return mean_importance(model, sums, sum(len(each.target) - 1 - model.config.num_forced for each in examples))


def _fingerprint(model: Transformer, examples: Examples, ablate: Ablate, processes: int) -> int:
    """A number that another model, corpus, ablation or number of processes does not have."""
    value = zlib.crc32(repr(([(each.source, each.target) for each in examples], ablate, processes)).encode())
    for parameter in model.parameters():
        value = zlib.crc32(parameter.detach().cpu().contiguous().flatten().view(torch.uint8).numpy(), value)  # type: ignore[arg-type]
    return value


def write_importance(
    out: Path,
    model: Transformer,
    tokenizer: TextTokenizer,
    pairs: TextPairs,
    resume: bool = False,
    processes: Processes | None = None,
    reporter: Callable[[int], Callable[[int], None]] | None = None,
) -> None:
    """Measure all heads over sentence pairs into a CSV file, as `measure_importance` does; "OUT.part" is what is saved.

    `reporter` makes the progress callback from the number of sentences. Raises DataError where no pair fits the model.
    """
    processes = processes or Processes()
    examples = make_examples(pairs, tokenizer, model.config.max_length)
    saved, progress = out.with_name(f"{out.name}.part"), reporter(len(examples)) if reporter else None
    found = measure_importance(model, examples, saved=saved, resume=resume, processes=processes, progress=progress)
    if processes.first:
        write_table(out, found)
        logger.info("%d sentences, log P of a token %.3f on average", len(examples), found.log_probabilities)
        for heads, loss in found.ranked()[:3]:
            logger.info("without %s layer %d head %d: %.3f less", heads.kind, heads.layer + 1, heads.head + 1, loss)  # type: ignore[operator]


def write_table(path: Path, importance: HeadImportance) -> None:
    """Write a corpus's losses as CSV, the most important head first; raises OSError.

    Layers and heads count from 1, as on the pages; `intervention` is the text of the ablation, which counts from 0.
    """
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["kind", "layer", "head", "loss_in_nats_a_token", "intervention"])
    for heads, loss in importance.ranked():
        rows.writerow([heads.kind, heads.layer + 1, heads.head + 1, f"{loss:.6f}", f"zero:{heads}"])  # type: ignore[operator]
    write_atomically(path, text.getvalue().encode())
