"""Activation patching: inner vectors of one sentence put into the run of another (Vig et al. 2020; Meng et al. 2022).

Two sources of equal length in tokens, one target prefix, and the token that each makes the model prefer after it. The
corrupted run gets one vector of the clean run at a time; how much of the difference of both tokens' logits comes back
tells where in the model the difference of the sentences is represented. Minimal pairs of such sources come with a
checkpoint, for its tokenizer has to cut both into as many tokens, and its model to tell them apart.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ...arrays import read_only, require_index, to_float64
from ...data.frames import cell_columns, frame_of
from ...data.tokenizer import TextTokenizer, source_ids
from ...errors import CheckpointError, InterventionError
from ...files import reading
from ...model.names import AttentionKind, Name, Part, Stack
from ...model.transformer import Transformer
from ...untrusted import read_toml
from ..activations import (
    Activations,
    EncoderActivations,
    Predictions,
    Request,
    predict,
    record,
    record_decoder,
    record_encoder,
)
from ..trace import Trace
from .custom import Patch
from .running import apply_interventions_side_by_side

if TYPE_CHECKING:
    import pandas

_NOTHING = Request(keep=(), logits_to_keep=1)
_RUNS_AT_ONCE = 128  # patched side by side, a copy of the sentence each: more are no faster


class Site(Name):
    """Vector that is taken from the clean run at a cell.

    The residual stream of a position after a layer, layer 0 being the input of the first layer; the output of an
    attention at a position, all heads together; or the output of one head, at all positions.
    """

    RESIDUAL = "residual"
    ATTENTION = "attention"
    HEAD = "head"


@dataclass(frozen=True)
class Cell:
    """One thing to patch. `part` is a stack of the residual stream, else a kind of attention; `index` is a position, or
    a head. Everything counts from 0, but of the residual stream 0 is before the first layer, 1 after it.
    """

    site: Site
    part: Stack | AttentionKind
    layer: int
    index: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "site", Site(self.site))
        parts = Stack if self.site == Site.RESIDUAL else AttentionKind
        object.__setattr__(self, "part", parts(self.part))

    @property
    def stack(self) -> Stack:
        """Return the half of the model that it belongs to."""
        return Stack(self.part) if self.site == Site.RESIDUAL else AttentionKind(self.part).stack

    @property
    def patched(self) -> Part:
        """Return the patched part of the model."""
        return Part(
            {Site.RESIDUAL: f"{self.part}.stream", Site.ATTENTION: f"{self.part}.attention"}.get(self.site, self.part)
        )

    def patch(self, clean: Activations) -> Patch:
        """Return the intervention that puts the vectors of the clean run, one sentence, there."""
        at = {"head" if self.site == Site.HEAD else "position": self.index}
        return Patch.from_activations(clean, self.patched, self.layer, **at)


# Sites with their parts, by name.
PATCHED = {
    "encoder stream": (Site.RESIDUAL, Stack.ENCODER),
    "decoder stream": (Site.RESIDUAL, Stack.DECODER),
    "cross-attention": (Site.ATTENTION, AttentionKind.CROSS),
    "encoder heads": (Site.HEAD, AttentionKind.ENCODER),
    "decoder heads": (Site.HEAD, AttentionKind.DECODER),
    "cross heads": (Site.HEAD, AttentionKind.CROSS),
}


@dataclass(frozen=True)
class Question:
    """Two sources, a decoder's input for both, and the tokens between which they decide after it.

    clean, corrupted: ids ending with end of sentence; fed: ids from begin of sentence on; tokens: the id that follows
    for the clean source, then the other's. Raises InterventionError for sources of different lengths.
    """

    clean: tuple[int, ...]
    corrupted: tuple[int, ...]
    fed: tuple[int, ...]
    tokens: tuple[int, int]

    def __post_init__(self) -> None:
        if len(self.clean) != len(self.corrupted):
            raise InterventionError(
                f"The sentences have {len(self.clean)} and {len(self.corrupted)} tokens: a vector has a place in the "
                "other run only where both have as many."
            )


def question_of(clean: Trace, corrupted: Trace) -> Question:
    """Ask at the first step at which two translations differ; raises InterventionError where none does."""
    for step, tokens in enumerate(zip(clean.target_ids, corrupted.target_ids, strict=False)):
        if tokens[0] != tokens[1]:
            return Question(clean.source_ids, corrupted.source_ids, clean.decoder_input_ids[: step + 1], tokens)
    raise InterventionError("Both sentences have the same translation, so there is no difference to restore.")


@dataclass(frozen=True, eq=False)
class PatchingMap:
    """Share of the logit difference that each cell of a site restores, 1 being all: [layers, positions or heads].

    Of the residual stream there is one layer more, the first before all layers. clean, corrupted: logit of the first
    token minus that of the second in both runs. Where these are equal there is nothing to restore: shares are NaN.
    """

    cells: tuple[tuple[Cell, ...], ...]
    shares: np.ndarray
    clean: float
    corrupted: float

    @property
    def nearness(self) -> np.ndarray:
        """Return how near a cell brings the corrupted run to the clean: its share, mirrored where above 1."""
        return np.asarray(1 - np.abs(1 - self.shares))

    @property
    def first_row(self) -> int:
        """Return the first row that a layer of the model has written: of a residual stream row 0 is the embeddings."""
        return int(self.cells[0][0].site == Site.RESIDUAL)

    def default_cell(self) -> tuple[int, int]:
        """Return row and column of the cell nearest to the clean run, embeddings aside.

        The embedding of the only word that differs restores all there, whatever the model.
        """
        first = self.first_row
        row, column = np.unravel_index(int(np.nan_to_num(self.nearness[first:]).argmax()), self.shares[first:].shape)
        return first + int(row), int(column)

    def to_frame(self) -> "pandas.DataFrame":
        """List the shares: part (a `Part`), layer, position or head, share; layer 0 of a stream is before the first."""
        first = self.cells[0][0]
        axes = ("layer", "head" if first.site == Site.HEAD else "position")
        return frame_of("part", {first.patched: cell_columns(axes, share=self.shares)})

    def row_names(self) -> list[str]:
        """Return the layers' names; of a residual stream the first row is before all of them."""
        layers = [f"layer {row + 1}" for row in range(len(self.cells))]
        return ["embeddings", *layers[:-1]] if self.cells[0][0].site == Site.RESIDUAL else layers

    def column_names(self, question: Question, tokenizer: TextTokenizer) -> list[str]:
        """Return the positions' tokens, of a source token that differs both, "▁dog | ▁dogs"; or the heads' numbers."""
        first = self.cells[0][0]
        if first.site == Site.HEAD:
            return [f"head {head + 1}" for head in range(len(self.cells[0]))]
        if first.stack == Stack.DECODER:
            return list(map(tokenizer.piece_text, question.fed))
        both = [tuple(map(tokenizer.source_piece_text, ids)) for ids in (question.clean, question.corrupted)]
        return [one if one == other else f"{one} | {other}" for one, other in zip(*both, strict=True)]


def patching_map(
    model: Transformer, question: Question, site: Site | str, part: Stack | AttentionKind | str
) -> PatchingMap:
    """Patch each cell of a site alone: of a stack's residual stream, or of a kind's attention or heads.

    The copies of the sentence run side by side in a few batches. Raises ValueError for a part that a site has not.
    """
    cells = every_cell(model, question, site, part)
    logits = patched_logits(model, question, [[cell] for row in cells for cell in row])
    differences = (logits[:, question.tokens[0]] - logits[:, question.tokens[1]]).double().cpu()
    shares = restored_shares(logits, question.tokens)[2:].reshape(len(cells), -1)
    return PatchingMap(cells, read_only(shares), float(differences[0]), float(differences[1]))


def every_cell(
    model: Transformer, question: Question, site: Site | str, part: Stack | AttentionKind | str
) -> tuple[tuple[Cell, ...], ...]:
    """List the cells of a site, layer by layer."""
    first = Cell(site, part, 0, 0)  # type: ignore[arg-type]
    layers, columns = _sizes(model, question, first)
    return tuple(
        tuple(Cell(first.site, first.part, layer, index) for index in range(columns)) for layer in range(layers)
    )


def _sizes(model: Transformer, question: Question, cell: Cell) -> tuple[int, int]:
    """Count the layers and the columns, heads or positions, of a cell's site."""
    positions = len(question.clean if cell.stack == Stack.ENCODER else question.fed)
    columns = model.config.num_heads if cell.site == Site.HEAD else positions
    return len(getattr(model, cell.stack)) + (cell.site == Site.RESIDUAL), columns


def restored_shares(logits: Tensor, tokens: tuple[int, int]) -> np.ndarray:
    """Return how far each row's logit difference is from row 1's, the corrupted run's, to row 0's; NaN if equal."""
    differences = to_float64(logits[:, tokens[0]] - logits[:, tokens[1]])
    whole = differences[0] - differences[1]
    return (differences - differences[1]) / whole if whole else np.full_like(differences, np.nan)


def patched_predictions(model: Transformer, question: Question, cells: Collection[Cell], count: int) -> Predictions:
    """Predict the next token in the clean, corrupted and patched run, [3], with the probability of the clean's."""
    logits = patched_logits(model, question, [cells])
    return predict(logits, torch.tensor(question.tokens[0], device=logits.device), count)


@torch.inference_mode()
def patched_logits(model: Transformer, question: Question, runs: Sequence[Collection[Cell]]) -> Tensor:
    """Compute the logits after the decoder's input of the clean run, the corrupted one, and the corrupted one patched
    with each set of cells: [2 + runs, vocab].

    A single set runs alone like the other two runs: patched with its own vectors it stays the same, patched with all it
    is the clean run, bit for bit. Several run side by side, where products are rounded otherwise. Raises ValueError
    for a cell that is not there.
    """
    for cell in (cell for cells in runs for cell in cells):
        layers, columns = _sizes(model, question, cell)
        require_index("layer", cell.layer, layers)
        require_index("head" if cell.site == Site.HEAD else "position", cell.index, columns)
    modules = tuple(dict.fromkeys(cell.patched.module(cell.layer) for cells in runs for cell in cells))
    clean, corrupted = (
        record(model, [source], [question.fed], Request(keep=keep, logits_to_keep=1))
        for source, keep in ((question.clean, modules), (question.corrupted, ()))
    )
    batches = (runs[first : first + _RUNS_AT_ONCE] for first in range(0, len(runs), _RUNS_AT_ONCE))
    patched = (_side_by_side(model, question, batch, clean, corrupted.memory) for batch in batches)
    return torch.cat([clean.logits[:, -1], corrupted.logits[:, -1], *patched])


def _side_by_side(
    model: Transformer, question: Question, runs: Sequence[Collection[Cell]], clean: Activations, memory: Tensor
) -> Tensor:
    """Run one batch of patched runs; those without a cell in the encoder share the corrupted run's memory."""
    memory = memory.repeat(len(runs), 1, 1)
    encoded = [row for row, cells in enumerate(runs) if any(cell.stack == Stack.ENCODER for cell in cells)]
    patches = [[cell.patch(clean) for cell in cells] for cells in runs]
    if encoded:
        with apply_interventions_side_by_side(model, [patches[row] for row in encoded]):
            memory[encoded] = record_encoder(model, [question.corrupted] * len(encoded), _NOTHING).memory
    with apply_interventions_side_by_side(model, patches):
        seen = record_decoder(model, EncoderActivations(memory, None, {}), [question.fed] * len(runs), _NOTHING)
    return seen.logits[:, -1]


PAIRS_FILE = "minimal_pairs.toml"


@dataclass(frozen=True)
class MinimalPair:
    """Two sentences, the name of their difference, a prefix of both translations, and the piece after it for each."""

    name: str
    sentences: tuple[str, str]
    prefix: str
    tokens: tuple[str, str]

    def question(self, tokenizer: TextTokenizer) -> Question:
        """Return the pair as ids, the first sentence being the clean one.

        Raises InterventionError for unequal lengths, and CheckpointError for a token that is no piece.
        """
        pieces = {tokenizer.piece_text(token): token for token in range(tokenizer.target_size)}
        if not pieces.keys() >= set(self.tokens):
            raise CheckpointError(f"{' and '.join(self.tokens)} must be pieces of the tokenizer.")
        clean, corrupted = (tuple(source_ids(tokenizer, sentence)) for sentence in self.sentences)
        fed = (tokenizer.begin_id, *tokenizer.forced_ids(self.sentences[0]), *tokenizer.encode_target(self.prefix))
        return Question(clean, corrupted, fed, (pieces[self.tokens[0]], pieces[self.tokens[1]]))


def read_minimal_pairs(folder: Path) -> tuple[MinimalPair, ...]:
    """Read the pairs beside a checkpoint, none where it brings none; raises CheckpointError for a file without any."""
    path = folder / PAIRS_FILE
    if not path.exists():
        return ()
    with reading(path, "holds no minimal pairs", ValueError, KeyError, TypeError):
        return tuple(_pair(table) for table in read_toml(path)["pair"])


def sentences_like(text: str) -> list[str]:
    """Make sentences that mostly have as many tokens: each two neighbouring words exchanged, then either twice."""
    words = text.split()
    likes = [
        " ".join((*words[:first], words[first + one], words[first + other], *words[first + 2 :]))
        for one, other in ((1, 0), (0, 0), (1, 1))
        for first in range(len(words) - 1)
    ]
    return [like for like in dict.fromkeys(likes) if like != " ".join(words)]


def _pair(table: dict[str, Any]) -> MinimalPair:
    one, other = map(str, table["sentences"])  # ValueError unless there are two
    of_one, of_other = map(str, table["tokens"])
    return MinimalPair(str(table["name"]), (one, other), str(table["prefix"]), (of_one, of_other))
