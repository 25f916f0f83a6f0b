"""From a corpus to its atlas: what is counted of its shards is merged, and the examples are drawn."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...checkpoint import load_checkpoint, weights_digest
from ...data.chunks import Batch, CorpusFiles
from ...data.engines import Compute, Engine
from ...data.measurement import Measurement, check_poolable
from ...data.shards import Plan, ShardWork, read_statistics
from ...data.tokenizer import TextTokenizer
from ...errors import CheckpointError, DataError
from ...files import write_atomically
from ...model.names import AttentionKind
from ...model.transformer import Transformer
from ..alignment.table import find_alignment
from ..what_if.importance_table import ImportanceTable
from .atlas import ATLAS_FILE, Atlas, AtlasProvenance, load_atlas, save_atlas
from .batch import Vocabulary, record_batch
from .drawing import Drawn, DrawTask, draw, draw_all, draw_tasks
from .statistics import Settings, Statistics, merge_all, nothing, statistics
from .summary import ErrorRates, Importance, summarise

STATISTICS_FILE = "statistics.json.gz"


@dataclass(frozen=True)
class AtlasMeasurement(Measurement[Statistics]):
    """What heads do, see `statistics`."""

    name = "atlas"
    settings: Settings = Settings()

    def open(self, model: Transformer, tokenizer: TextTokenizer) -> Callable[[Batch], Statistics]:
        """Return the function of a batch."""
        vocabulary = Vocabulary.of(tokenizer)
        return lambda batch: statistics(record_batch(model, batch.examples), vocabulary, self.settings)

    def nothing(self, model: Transformer, skipped: Counter[str]) -> Statistics:
        return replace(nothing(model, self.settings), skipped=skipped)

    def read(self, content: bytes) -> Statistics:
        return Statistics.from_bytes(content)

    def identity(self) -> dict[str, Any]:
        return asdict(self.settings)


@dataclass(frozen=True)
class AtlasWork(ShardWork[Statistics]):
    """What a worker does: a task is a shard's number, or a batch of sentences to draw."""

    def open(self) -> Compute:
        """Read the model."""
        translator = self.load()
        count, vocabulary = self.shards_of(translator), Vocabulary.of(translator.tokenizer)

        def compute(task: int | DrawTask) -> bytes:
            if isinstance(task, DrawTask):
                return draw(record_batch(translator.model, task.examples), task, vocabulary).to_bytes()
            return count(task)

        return compute


def draw_examples(counted: Statistics, engine: Engine, work: AtlasWork) -> Drawn:
    """Return the examples' maps and the sample's tokens."""
    parts = dict(engine.run(work, draw_tasks(counted)))
    return draw_all(Drawn.from_bytes(parts[index]) for index in sorted(parts))


def write_atlas(
    plan: Plan[Statistics], counted: Statistics, drawn: Drawn, out: Path, importance: Importance | None = None
) -> Atlas:
    """Write `atlas.json` and the merged statistics; return the atlas.

    It has the alignment error rates that stand in the checkpoint's folder, where they are of the same weights.

    Raises DataError where no sentence was measured, OSError where a file cannot be written.
    """
    settings = plan.measurement.identity()
    told = AtlasProvenance(**vars(plan.provenance(counted)), seed=settings["seed"], sample=settings["sample"])
    checkpoint = load_checkpoint(Path(plan.checkpoint))
    heads, rates = checkpoint.model.config.num_heads, _error_rates(plan, checkpoint.model)
    atlas = summarise(counted, drawn, checkpoint.tokenizer, heads, told, importance, rates)
    save_atlas(out / ATLAS_FILE, atlas)
    write_atomically(out / STATISTICS_FILE, counted.to_bytes())
    return atlas


def pool(checkpoint: Path, folders: Sequence[Path]) -> tuple[Plan[Statistics], Statistics]:
    """Return the statistics of several finished atlases of a checkpoint together, and the plan that they share.

    Raises DataError where they are of other weights, settings or programs, or two of the same pairs; CheckpointError
    where one cannot be read.
    """
    model, weights = load_checkpoint(checkpoint).model, weights_digest(checkpoint)
    told = [load_atlas(folder / ATLAS_FILE, model).provenance for folder in folders]
    for folder, each in zip(folders, told, strict=True):
        if each.weights != weights:
            raise DataError(f"{folder} is of other weights than {checkpoint}.")
    check_poolable(told)
    if len({(each.seed, each.sample) for each in told}) > 1:
        raise DataError("These cannot be pooled: they are not all of one seed and sample.")
    names, digests = (tuple(text for each in told for text in getattr(each, name)) for name in ("pairs", "digests"))
    files = CorpusFiles(names, digests, sum(each.lines for each in told))
    measurement = AtlasMeasurement(replace(Settings(), seed=told[0].seed, sample=told[0].sample))
    plan = Plan(str(checkpoint.resolve()), weights, files, 1, measurement, program=told[0].program)
    return plan, merge_all(read_statistics(folder / STATISTICS_FILE, measurement) for folder in folders)


def read_measured(path: Path | None, weights: str) -> Importance | None:
    """Return importance by kind from a table that was saved, None without one.

    Raises CheckpointError where it cannot be read, or is of other weights.
    """
    if path is None:
        return None
    table = ImportanceTable.load(path)
    if table.provenance.weights != weights:
        raise CheckpointError(f"{path} is of other weights.")
    found: dict[AttentionKind, np.ndarray] = {}
    sums = table.sums
    for kind in AttentionKind:
        rows = [row for row, head in enumerate(sums.heads) if head.kind == kind]
        shape = (1 + max(sums.heads[row].layer or 0 for row in rows), -1, 2)
        found[kind] = np.stack([sums.means[rows], sums.standard_errors[rows]], axis=-1).reshape(shape)
    return found


def _error_rates(plan: Plan[Statistics], model: Transformer) -> ErrorRates | None:
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
