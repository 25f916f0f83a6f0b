"""Files of an atlas: written for a measured corpus, and pooled from several finished atlases."""

from collections.abc import Sequence
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np

from ...checkpoint import Checkpoint, load_checkpoint, weights_digest
from ...errors import CheckpointError, DataError
from ...files import reading, write_atomically
from ...model.names import AttentionKind
from ...model.transformer import Transformer
from ...untrusted import read_regular
from ..alignment.table import find_alignment
from ..importance_table import ImportanceTable
from ..provenance import pooled
from .atlas import ATLAS_FILE, Atlas, AtlasProvenance, load_atlas, save_atlas
from .drawing import Drawn
from .statistics import Statistics
from .summary import ErrorRates, Importance, summarise

STATISTICS_FILE = "statistics.json.gz"
_MOST_BYTES = 1 << 30


def write_atlas(
    folder: Path,
    provenance: AtlasProvenance,
    statistics: Statistics,
    drawn: Drawn,
    out: Path,
    importance: Importance | None = None,
) -> Atlas:
    """Write `atlas.json` and the statistics for later pooling; return the atlas.

    The atlas has the alignment error rates that stand in the checkpoint's folder, where they are of the same weights.
    Raises OSError where a file cannot be written.
    """
    checkpoint: Checkpoint = load_checkpoint(folder)
    rates = _error_rates(folder, checkpoint.model, provenance.weights)
    heads = checkpoint.model.config.num_heads
    atlas = summarise(statistics, drawn, checkpoint.tokenizer, heads, provenance, importance, rates)
    save_atlas(out / ATLAS_FILE, atlas)
    write_atomically(out / STATISTICS_FILE, statistics.to_bytes())
    return atlas


def pool_atlases(checkpoint: Path, folders: Sequence[Path]) -> tuple[AtlasProvenance, Statistics]:
    """Return the origin and the statistics of several finished atlases of a checkpoint together.

    Raises DataError where they are of other weights, settings or programs, or two of the same pairs; CheckpointError
    where one cannot be read.
    """
    model, weights = load_checkpoint(checkpoint).model, weights_digest(checkpoint)
    parts = [load_atlas(folder / ATLAS_FILE, model).provenance for folder in folders]
    for folder, each in zip(folders, parts, strict=True):
        if each.weights != weights:
            raise DataError(f"{folder} is of other weights than {checkpoint}.")
    together = pooled(parts)
    if len({(each.seed, each.sample) for each in parts}) > 1:
        raise DataError("These cannot be pooled: they are not all of one seed and sample.")
    provenance = AtlasProvenance(**vars(together), seed=parts[0].seed, sample=parts[0].sample)
    return provenance, reduce(add, (read_statistics(folder / STATISTICS_FILE) for folder in folders))


def read_statistics(path: Path) -> Statistics:
    """Read the statistics of an atlas; raises CheckpointError for anything else."""
    with reading(path, "is damaged", ValueError, EOFError, RecursionError):
        return Statistics.from_bytes(read_regular(path, _MOST_BYTES))


def read_importance(path: Path, weights: str) -> Importance:
    """Return importance by kind from a table; raises CheckpointError for a damaged table or one of other weights."""
    table = ImportanceTable.load(path)
    if table.provenance.weights != weights:
        raise CheckpointError(f"{path} is of other weights.")
    means, errors = (table.sums.by_kind(values) for values in (table.sums.means, table.sums.standard_errors))
    return {kind: np.stack([means[kind], errors[kind]], axis=-1) for kind in AttentionKind}


def _error_rates(folder: Path, model: Transformer, weights: str) -> ErrorRates | None:
    """Return the alignment error rates of these weights in a checkpoint's folder, of each cross-attention head the rate
    of its better reading, punctuation counted; None without any.
    """
    table = find_alignment(folder, model)
    if table is None or table.weights != weights:
        return None
    rates = np.full((len(model.decoder), model.config.num_heads), np.nan)
    for cell in np.ndindex(rates.shape):
        if best := table.best_rate(*cell):
            rates[cell] = best[0]
    return {AttentionKind.CROSS: rates}
