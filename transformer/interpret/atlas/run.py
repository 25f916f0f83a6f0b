"""From a corpus to its atlas: shards are counted wherever an engine computes, kept in a folder, merged, and drawn."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch

from ... import __version__
from ...checkpoint import load_checkpoint, weights_digest
from ...data.chunks import LINES_A_CHUNK, TOKENS_A_BATCH, ChunkReader, CorpusFiles, batches_of, survey
from ...data.engines import Compute, Engine
from ...errors import CheckpointError, ConfigError, DataError
from ...files import reading, write_atomically
from ...model.names import AttentionKind
from ...model.transformer import Transformer
from ...translator import Translator
from ...untrusted import parse_json, read_regular
from ..alignment.table import find_alignment
from ..what_if.importance_table import ImportanceTable
from .atlas import ATLAS_FILE, Atlas, Provenance, load_atlas, save_atlas
from .batch import Vocabulary, record_batch
from .drawing import Drawn, DrawTask, draw, draw_all, draw_tasks
from .headvis import save_headvis
from .statistics import Settings, Statistics, merge_all, nothing, statistics
from .summary import ErrorRates, Importance, summarise

PLAN_FILE, STATISTICS_FILE = "plan.json", "statistics.json.gz"
_CHUNKS_A_SHARD = 8
_MOST_SHARDS = 4096
_MOST_BYTES = 1 << 30  # of a shard's statistics


@dataclass(frozen=True)
class Plan:
    """All that an atlas depends on: the same plan makes the same bytes, in whatever process, order or engine."""

    checkpoint: str
    weights: str
    files: CorpusFiles
    shards: int
    settings: Settings = Settings()
    target_language: str | None = None
    source_language: str | None = None
    program: str = __version__
    batches: tuple[int, int] = (LINES_A_CHUNK, TOKENS_A_BATCH)

    @classmethod
    def of(
        cls,
        checkpoint: Path,
        pairs: Sequence[Path],
        shards: int | None = None,
        settings: Settings | None = None,
        languages: tuple[str | None, str | None] = (None, None),
    ) -> "Plan":
        """Plan the atlas of a checkpoint over files of pairs; about 4,000 lines a shard for want of `shards`.

        Raises DataError where the files cannot be read, and CheckpointError where there are no weights.
        """
        weights, files = weights_digest(checkpoint), survey(pairs)
        count = shards or -(-files.chunks // _CHUNKS_A_SHARD)
        count = max(1, min(count, files.chunks, _MOST_SHARDS))
        return cls(str(Path(checkpoint).resolve()), weights, files, count, settings or Settings(), *languages)

    def identity(self) -> dict[str, object]:
        """Return what two plans of the same atlas in the same shards have in common, ready for JSON."""
        content = json.loads(json.dumps(asdict(self)))
        del content["checkpoint"], content["files"]["paths"]  # they may have moved, or be elsewhere on another machine
        return content


@dataclass(frozen=True)
class AtlasWork:
    """What a worker does: a task is a shard's number, or a batch of sentences to draw."""

    plan: Plan
    device: str = "cpu"

    def open(self) -> Compute:
        """Read the model. On a CPU one thread computes: another number of them may round otherwise."""
        if torch.device(self.device).type == "cpu":
            torch.set_num_threads(1)
        translator = Translator.load(self.plan.checkpoint, self.device)
        vocabulary = Vocabulary.of(translator.tokenizer)
        reader = ChunkReader(self.plan.files)

        def compute(task: int | DrawTask) -> bytes:
            if isinstance(task, DrawTask):
                return draw(record_batch(translator.model, task.examples), task, vocabulary).to_bytes()
            return count_shard(self.plan, task, translator, vocabulary, reader).to_bytes()

        return compute


def count_shard(
    plan: Plan, shard: int, translator: Translator, vocabulary: Vocabulary, reader: ChunkReader
) -> Statistics:
    """Return the statistics of a shard, a pure function of its lines."""
    model = translator.model
    languages = plan.target_language, plan.source_language
    counted = nothing(model, plan.settings)
    for chunk in plan.files.chunks_of(shard, plan.shards):
        batches, skipped = batches_of(reader.read(chunk), translator, model.config.max_length, languages)
        for batch in batches:
            counted = counted.merge(statistics(record_batch(model, batch), vocabulary, plan.settings))
        counted = replace(counted, skipped=counted.skipped + skipped)
    return counted


class ShardFolder:
    """The shards that are done, a file each, written whole or not at all, beside the plan that they are of."""

    def __init__(self, folder: Path):
        self._folder = Path(folder)

    def begin(self, plan: Plan, resume: bool) -> None:
        """Keep the plan, or compare it with the one that is there.

        Raises ConfigError where there is one and it is not to be resumed, or a finished atlas; CheckpointError where
        the plan is another's.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / PLAN_FILE
        if not path.exists():
            if (self._folder / ATLAS_FILE).exists():
                raise ConfigError(f"{self._folder} holds an atlas that is finished; give another --out.")
            return write_atomically(path, json.dumps(plan.identity()).encode())
        if not resume:
            raise ConfigError(f"{self._folder} holds an unfinished atlas; give --resume to go on, or another --out.")
        with reading(path, "cannot be read", ValueError):
            kept = parse_json(read_regular(path, 1 << 23))
        if kept != plan.identity():
            raise CheckpointError(f"{self._folder} is of another atlas: of other weights, pairs, shards or settings.")

    def missing(self, plan: Plan) -> list[int]:
        """Return the shards that are not there."""
        return [shard for shard in range(plan.shards) if not self._path(shard).is_file()]

    def keep(self, shard: int, content: bytes) -> None:
        """Write a shard's statistics."""
        write_atomically(self._path(shard), content)

    def merged(self, plan: Plan) -> Statistics:
        """Return the statistics of all shards together; raises CheckpointError where one is missing or damaged."""
        return merge_all(self._read(shard) for shard in range(plan.shards))

    def clear(self, plan: Plan) -> None:
        """Delete the shards, for they are merged, and last the plan: without it the atlas is finished."""
        for shard in range(plan.shards):
            self._path(shard).unlink(missing_ok=True)
        (self._folder / PLAN_FILE).unlink()

    def _read(self, shard: int) -> Statistics:
        return read_statistics(self._path(shard))

    def _path(self, shard: int) -> Path:
        return self._folder / f"shard-{shard:05d}.json.gz"


def read_statistics(path: Path) -> Statistics:
    """Read statistics that were kept; raises CheckpointError for anything else."""
    with reading(path, "is damaged", ValueError, EOFError, KeyError, TypeError, AttributeError, IndexError):
        return Statistics.from_bytes(read_regular(path, _MOST_BYTES))


def count_all(
    missing: Sequence[int], folder: ShardFolder, engine: Engine, work: AtlasWork, progress: Callable[[int, int], None]
) -> int:
    """Count the shards that are missing in the folder; returns how many were counted here.

    `progress` is told how many are done, and of how many.
    """
    done = 0
    for index, content in engine.run(work, missing):
        folder.keep(missing[index], content)
        done += 1
        progress(done, len(missing))
    return done


def draw_examples(counted: Statistics, engine: Engine, work: AtlasWork) -> Drawn:
    """Return the examples' maps and the sample's tokens."""
    parts = dict(engine.run(work, draw_tasks(counted)))
    return draw_all(Drawn.from_bytes(parts[index]) for index in sorted(parts))


def finish(
    plan: Plan, counted: Statistics, drawn: Drawn, out: Path, folder: ShardFolder, importance: Importance | None = None
) -> Atlas:
    """Write all files of an atlas and delete its shards; returns the atlas.

    It has the alignment error rates that stand in the checkpoint's folder, where they are of the same weights.

    Raises DataError where no sentence was measured, OSError where a file cannot be written.
    """
    if not counted.sentences:
        why = ", ".join(f"{count} {reason}" for reason, count in sorted(counted.skipped.items()))
        raise DataError(f"No pair of {', '.join(plan.files.names)} can be measured: {why}.")
    checkpoint = load_checkpoint(Path(plan.checkpoint))
    heads, rates = checkpoint.model.config.num_heads, _error_rates(plan, checkpoint.model)
    atlas = summarise(counted, drawn, checkpoint.tokenizer, heads, _provenance(plan, counted), importance, rates)
    save_headvis(out, atlas, Path(plan.checkpoint).name)
    save_atlas(out / ATLAS_FILE, atlas)
    write_atomically(out / STATISTICS_FILE, counted.to_bytes())
    folder.clear(plan)
    return atlas


def pool(checkpoint: Path, folders: Sequence[Path]) -> tuple[Plan, Statistics]:
    """Return the statistics of several finished atlases of a checkpoint together, and the plan that they share.

    Raises DataError where they are of other weights, settings or programs, or two of the same pairs; CheckpointError
    where one cannot be read.
    """
    model = load_checkpoint(checkpoint).model
    told = [load_atlas(folder / ATLAS_FILE, model).provenance for folder in folders]
    weights = weights_digest(checkpoint)
    for folder, each in zip(folders, told, strict=True):
        if each.weights != weights:
            raise DataError(f"{folder} is of other weights than {checkpoint}.")
    if len({(each.seed, each.sample, each.program) for each in told}) > 1:
        raise DataError("These atlases cannot be pooled: they are not all of one seed, sample and version.")
    digests = [digest for each in told for digest in each.digests]
    names = [name for each in told for name in each.pairs]
    if twice := next((name for name, digest in zip(names, digests, strict=True) if digests.count(digest) > 1), None):
        raise DataError(f"These atlases cannot be pooled: the pairs of {twice} would count twice.")
    files = CorpusFiles(tuple(names), tuple(digests), sum(each.lines for each in told))
    settings = replace(Settings(), seed=told[0].seed, sample=told[0].sample)
    plan = Plan(str(checkpoint.resolve()), weights, files, 1, settings, program=told[0].program)
    return plan, merge_all(read_statistics(folder / STATISTICS_FILE) for folder in folders)


def read_measured(path: Path | None, weights: str) -> Importance | None:
    """Return importance by kind from a table that was saved, None without one.

    Raises CheckpointError where it cannot be read, or is of other weights.
    """
    if path is None:
        return None
    table = ImportanceTable.load(path)
    if table.weights != weights:
        raise CheckpointError(f"{path} is of other weights.")
    errors = table.sums.deviations[:-1] / np.sqrt(table.sums.tokens)
    found: dict[AttentionKind, np.ndarray] = {}
    for kind in AttentionKind:
        heads = [each for each in table.sums.heads if each.kind == kind]
        layers, count = (1 + max(getattr(each, name) for each in heads) for name in ("layer", "head"))
        found[kind] = np.zeros((layers, count, 2))
    for head, mean, error in zip(table.sums.heads, table.sums.means, errors, strict=False):
        found[AttentionKind(head.kind)][head.layer, head.head] = mean, error
    return found


def _error_rates(plan: Plan, model: Transformer) -> ErrorRates | None:
    """Return what `headlight align` measured of these weights, where it stands in the checkpoint's folder: of each
    cross-attention head the rate of its better reading, punctuation counted.
    """
    table = find_alignment(Path(plan.checkpoint), model)
    if table is None or table.weights != plan.weights:
        return None
    rates = np.full((len(model.decoder), model.config.num_heads), np.nan)
    for cell in np.ndindex(rates.shape):
        if best := table.best_rate(*cell):
            rates[cell] = best[0]
    return {AttentionKind.CROSS: rates}


def _provenance(plan: Plan, counted: Statistics) -> Provenance:
    return Provenance(
        pairs=plan.files.names,
        digests=plan.files.digests,
        weights=plan.weights,
        program=plan.program,
        lines=plan.files.lines,
        skipped=dict(sorted(counted.skipped.items())),
        seed=plan.settings.seed,
        sample=plan.settings.sample,
    )
