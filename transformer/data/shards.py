"""One way over a corpus of any length: shards are measured wherever an engine computes, kept, and merged."""

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Generic

import torch

from .. import __version__
from ..checkpoint import weights_digest
from ..errors import CheckpointError, ConfigError, DataError
from ..files import reading, write_atomically
from ..untrusted import parse_json, read_regular
from .chunks import TOKENS_A_BATCH, ChunkReader, CorpusFiles, batches_of
from .engines import Compute, Engine
from .measurement import Measurement, Provenance, S

if TYPE_CHECKING:
    from ..translator import Translator

logger = logging.getLogger(__name__)

PLAN_FILE = "plan.json"
_SHARD = "shard-{}.json.gz"
_MOST_SHARDS = 4096
_MOST_BYTES = 1 << 30  # of a shard's statistics


@dataclass(frozen=True)
class Plan(Generic[S]):
    """All that a measurement depends on: the same plan makes the same bytes, in whatever process, order or engine."""

    checkpoint: str
    weights: str
    files: CorpusFiles
    shards: int
    measurement: Measurement[S]
    target_language: str | None = None
    source_language: str | None = None
    program: str = __version__

    @classmethod
    def of(
        cls,
        checkpoint: Path,
        files: CorpusFiles,
        measurement: Measurement[S],
        shards: int | None = None,
        languages: tuple[str | None, str | None] = (None, None),
    ) -> "Plan[S]":
        """Plan to measure a checkpoint over surveyed files; raises CheckpointError where it has no weights."""
        files = replace(files, lines_a_chunk=measurement.lines_a_chunk)
        count = shards or -(-files.chunks // measurement.chunks_a_shard)
        count = max(1, min(count, files.chunks, _MOST_SHARDS))
        path = str(Path(checkpoint).resolve())
        return cls(path, weights_digest(checkpoint), files, count, measurement, *languages)

    def identity(self) -> dict[str, object]:
        """Return what two plans of the same measurement in the same shards have in common, ready for JSON."""
        content = {name: value for name, value in vars(self).items() if name != "checkpoint"}
        files = asdict(self.files)
        del files["paths"]  # like the checkpoint they may have moved, or be elsewhere on another machine
        measurement = {"name": self.measurement.name, **self.measurement.identity()}
        content |= {"files": files, "measurement": measurement, "tokens_a_batch": TOKENS_A_BATCH}
        return json.loads(json.dumps(content))

    def provenance(self, counted: S) -> Provenance:
        """Return what the statistics of all its shards are of, and log what was skipped; raises DataError where they
        are of no sentence.
        """
        files, skipped = self.files, dict(sorted(counted.skipped.items()))
        names, why = ", ".join(files.names), ", ".join(f"{count} {reason}" for reason, count in skipped.items())
        if not counted.sentences:
            raise DataError(f"No pair of {names} can be measured: {why}.")
        if skipped:
            logger.warning("%s: skipped %s", names, why)
        return Provenance(files.names, files.digests, self.weights, self.program, files.lines, skipped)


@dataclass(frozen=True)
class ShardWork(Generic[S]):
    """What a worker does: a task is a shard's number."""

    plan: Plan[S]
    device: str = "cpu"

    def open(self) -> Compute:
        """Read the model."""
        return self.shards_of(self.load())

    def load(self) -> "Translator":
        """Read the model. On a CPU one thread computes: another number of them may round otherwise."""
        from ..translator import Translator  # which stands above this package

        if torch.device(self.device).type == "cpu":
            torch.set_num_threads(1)
        return Translator.load(self.plan.checkpoint, self.device)

    def shards_of(self, translator: "Translator") -> Compute:
        """Return what measures a shard, a pure function of its lines."""
        plan, model = self.plan, translator.model
        languages, max_length = (plan.target_language, plan.source_language), model.config.max_length
        measure, reader = plan.measurement.open(model, translator.tokenizer), ChunkReader(plan.files)

        def compute(shard: int) -> bytes:
            counted = None
            for chunk in plan.files.chunks_of(shard, plan.shards):
                batches, skipped = batches_of(reader.read(chunk), translator, max_length, languages)
                parts = [plan.measurement.nothing(model, skipped), *map(measure, batches)]
                counted = reduce(_merged, parts if counted is None else [counted, *parts])
            assert counted is not None, "a shard has a chunk"
            return counted.to_bytes()

        return compute


def _merged(one: S, other: S) -> S:
    return one.merge(other)


class ShardFolder:
    """The shards that are done, a file each, written whole or not at all, beside the plan that they are of."""

    def __init__(self, folder: Path):
        self._folder = Path(folder)

    def begin(self, plan: Plan, resume: bool) -> None:
        """Keep the plan, or compare it with the one that is there.

        Raises ConfigError where there is one and it is not to be resumed; CheckpointError where it is another one.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / PLAN_FILE
        if not path.exists():
            for left in self._folder.glob(_SHARD.format("*")):  # of a measurement that was stopped while it was deleted
                left.unlink()
            return write_atomically(path, json.dumps(plan.identity()).encode())
        if not resume:
            raise ConfigError(
                f"{self._folder} holds an unfinished measurement; give --resume to go on, or another --out."
            )
        with reading(path, "cannot be read", ValueError):
            kept = parse_json(read_regular(path, 1 << 23))
        if kept != plan.identity():
            raise CheckpointError(
                f"{self._folder} is of another measurement: of other weights, pairs, shards or settings."
            )

    def missing(self, plan: Plan) -> list[int]:
        """Return the shards that are not there."""
        return [shard for shard in range(plan.shards) if not self._path(shard).is_file()]

    def keep(self, shard: int, content: bytes) -> None:
        """Write a shard's statistics."""
        write_atomically(self._path(shard), content)

    def merged(self, plan: Plan[S]) -> S:
        """Return the statistics of all shards together; raises CheckpointError where one is missing or damaged."""
        return reduce(_merged, (read_statistics(self._path(shard), plan.measurement) for shard in range(plan.shards)))

    def clear(self, plan: Plan) -> None:
        """Delete the shards, for they are merged, and last the plan: without it the measurement is finished."""
        for shard in range(plan.shards):
            self._path(shard).unlink(missing_ok=True)
        (self._folder / PLAN_FILE).unlink(missing_ok=True)

    def _path(self, shard: int) -> Path:
        return self._folder / _SHARD.format(f"{shard:05d}")


def read_statistics(path: Path, measurement: Measurement[S]) -> S:
    """Read statistics that were kept; raises CheckpointError for anything else."""
    with reading(path, "is damaged", ValueError, EOFError, KeyError, TypeError, AttributeError, IndexError):
        return measurement.read(read_regular(path, _MOST_BYTES))


def measure_shards(
    missing: Sequence[int], folder: ShardFolder, engine: Engine, work: ShardWork, progress: Callable[[int, int], None]
) -> int:
    """Measure the shards that are missing in the folder; returns how many were measured here.

    `progress` is told how many are done, and of how many.
    """
    done = 0
    for index, content in engine.run(work, missing):
        folder.keep(missing[index], content)
        done += 1
        progress(done, len(missing))
    return done
