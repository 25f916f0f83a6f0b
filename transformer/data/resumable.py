"""One way over a corpus: what is computed of each batch is added up, shared among processes, kept on disk, resumed."""

import zlib
from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import torch
from torch import nn

from ..errors import CheckpointError, ConfigError
from ..files import load_checksummed, save_checksummed

if TYPE_CHECKING:
    from ..model.distributed import Processes

Batch = TypeVar("Batch", bound=Sized)


@dataclass(frozen=True, kw_only=True)
class CorpusRun:
    """How a corpus is gone over.

    saved: a file for what is done so far, to be deleted once the result is safe; with `resume` it is gone on with,
    where it is there. With several processes all go over the corpus alike, each takes its share of the batches, and
    all get the same; another number of them may resume. `progress` is told how many sentences are done.
    """

    saved: Path | None = None
    resume: bool = False
    processes: "Processes | None" = None
    progress: Callable[[int], None] | None = None


def add_up(
    statistics: Callable[[Batch], np.ndarray],
    batches: Sequence[Batch],
    zeros: np.ndarray,
    fingerprint: Callable[[], int],
    run: CorpusRun | None = None,
) -> np.ndarray:
    """Return the sum of `statistics` over all batches, float64 in the shape of `zeros`.

    `fingerprint` tells this measurement from others, see `fingerprint_of`. Raises, before the first batch, ConfigError
    where `run.saved` is there and not to be resumed, CheckpointError where it is of something else, and OSError where
    it cannot be written.
    """
    from ..model.distributed import Processes  # the app needs none

    run = run or CorpusRun()
    processes = run.processes or Processes()
    sums, done, stored = zeros.astype(np.float64), 0, 0
    if run.saved is not None:
        stored = fingerprint()
        sums, done = _stored_sums(run, sums, stored)
    sentences = sum(map(len, batches[:done]))
    processes.wait()  # each has read what is there before the first one writes

    def keep() -> None:
        if run.saved is not None and processes.first:
            tensors = {"sums": torch.from_numpy(sums), "counts": torch.tensor([done, stored])}
            save_checksummed(run.saved, tensors)

    keep()
    while done < len(batches):
        together = batches[done : done + processes.count]
        mine = sum((statistics(batch) for batch in processes.share(together)), np.zeros_like(sums))
        sums = sums + processes.gather(torch.from_numpy(mine)).sum(dim=0).numpy()
        done += len(together)
        sentences += sum(map(len, together))
        keep()
        if run.progress and processes.first:
            run.progress(sentences)
    return sums


def fingerprint_of(model: nn.Module, *measured: object) -> int:
    """Return a number that other weights, and what has another `repr`, such as other sentences, do not have."""
    value = zlib.crc32(repr(measured).encode())
    for parameter in model.parameters():
        value = zlib.crc32(parameter.detach().cpu().contiguous().flatten().view(torch.uint8).numpy(), value)  # type: ignore[arg-type]
    return value


def _stored_sums(run: CorpusRun, zeros: np.ndarray, fingerprint: int) -> tuple[np.ndarray, int]:
    """Return the sums so far and the number of batches that are in them."""
    if run.saved is None or not run.saved.exists():
        return zeros, 0
    if not run.resume:
        raise ConfigError(f"{run.saved} holds an unfinished measurement; give --resume to go on, or another --out.")
    tensors = load_checksummed(run.saved)
    done, stored = tensors["counts"].tolist()
    if stored != fingerprint:
        raise CheckpointError(
            f"{run.saved} is of another measurement: of other weights, other pairs or another ablation."
        )
    return tensors["sums"].numpy().copy(), done
