"""Trace: one translated sentence with its attention, for figures, pages and notebooks; and one attention map of it."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
import torch

from ..arrays import read_only, require_index, to_array
from ..data.batching import Ids
from ..data.frames import cell_columns, frame_of
from ..data.tokenizer import Piece, TextTokenizer, well_formed
from ..model.names import AttentionKind, Name
from .activations import Activations, predict
from .content import ContentMaps, SpecialShare, content_only, special_share
from .inseq_file import save_inseq
from .trace_file import Origin, load_fields, save_fields
from .what_if.intervention import Intervention
from .what_if.running import rewritten_weights

if TYPE_CHECKING:
    import pandas

TOP_K = 10  # candidates per step


@dataclass(frozen=True, eq=False)
class Trace:
    """One sentence, its target, and every attention weight of the pass over both. Arrays are read-only, and float32
    whatever the model computes in, but float64 of a model in float64.

    encoder: [layers, heads, source, source], decoder: [layers, heads, target, target],
    cross: [layers, heads, target, source]; rows are queries, columns keys, layers and heads count from 0.
    The decoder's input is the target shifted right, from begin of sentence on: row t reads `decoder_input_tokens[t]`
    and predicts the next token of the target, `target_tokens[t]`, to which the model gave `target_probabilities[t]`
    and the rank `target_ranks[t]` (1 = most probable). `entropies` are in nats.
    `candidate_ids` and `candidate_probabilities`: [target, k], most probable first.
    `origin`: "decoded", "target" or "prefix", see `Origin`.
    `finished` is False for a target without its end of sentence: a decoded one met the length limit, or ids were given.
    `source_pieces` are the source's tokens but for the special ones at its end. Of the target the first `num_forced`
    tokens are forced, such as the language that it is to write: nothing is chosen there, and no score counts them.
    `interventions` are those that the pass ran under. Where they rewrite attention, the maps show the weights
    afterwards; an ablated head's map shows the weights whose result was not used.
    """

    source_text: str
    target_text: str
    origin: Origin
    finished: bool
    source_pieces: tuple[Piece, ...]
    source_tokens: tuple[str, ...]
    source_ids: tuple[int, ...]
    decoder_input_tokens: tuple[str, ...]
    decoder_input_ids: tuple[int, ...]
    target_tokens: tuple[str, ...]
    target_ids: tuple[int, ...]
    encoder: np.ndarray
    decoder: np.ndarray
    cross: np.ndarray
    target_probabilities: np.ndarray
    target_ranks: np.ndarray
    entropies: np.ndarray
    candidate_ids: np.ndarray
    candidate_probabilities: np.ndarray
    candidate_tokens: tuple[tuple[str, ...], ...]
    num_forced: int = 0
    interventions: tuple[Intervention, ...] = ()

    def __setstate__(self, state: dict[str, object]) -> None:
        """Restore an unpickled trace with read-only arrays."""
        vars(self).update(state)
        for value in state.values():
            if isinstance(value, np.ndarray):
                read_only(value)

    def attention(self, kind: AttentionKind | str) -> np.ndarray:
        """Return the maps of a kind: "encoder", "decoder" or "cross"; raises ValueError for another."""
        maps: np.ndarray = getattr(self, AttentionKind(kind))
        return maps

    def special_share(self) -> SpecialShare:
        """Measure the share of each head's weight on end, begin, language tags and punctuation."""
        return special_share(self._maps_and_keys())

    def content_only(self) -> ContentMaps:
        """Return all maps without these keys, their rows divided by the remaining sum, and the removed shares."""
        return content_only(self._maps_and_keys())

    def _maps_and_keys(self) -> dict[AttentionKind, tuple[np.ndarray, tuple[str, ...]]]:
        return {kind: (self.attention(kind), keys_of(self, kind)) for kind in AttentionKind}

    def before(self, step: int) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        """Return the ids of source and prefix before a step, from 0, and the id of the step's token."""
        return self.source_ids, self.decoder_input_ids[: step + 1], self.target_ids[step]

    @classmethod
    def from_activations(
        cls,
        seen: Activations,
        tokenizer: TextTokenizer,
        source_text: str,
        target_ids: Ids,
        origin: Origin,
        interventions: tuple[Intervention, ...] = (),
    ) -> Self:
        """Make the trace of the one sentence of a recorded pass, which may be padded.

        target_ids: the ids after begin of sentence, [target]; interventions: those that the pass was recorded under.
        """
        before, after = tokenizer.frame(source_text)
        pieces = [Piece(token, tokenizer.source_piece_text(token), 0, 0) for token in before]
        pieces += tokenizer.pieces(well_formed(source_text))
        source_ids = [*(piece.id for piece in pieces), *after]
        decoder_input = [tokenizer.begin_id, *target_ids[:-1]]
        source, target = len(source_ids), len(target_ids)
        sizes = {
            AttentionKind.ENCODER: (source, source),
            AttentionKind.DECODER: (target, target),
            AttentionKind.CROSS: (target, source),
        }
        logits = seen.logits[0, :target]  # target vocab
        predicted = predict(logits, torch.tensor(target_ids, device=logits.device), TOP_K)
        return cls(
            source_text=source_text,
            target_text=tokenizer.decode(target_ids),
            origin=origin,
            finished=target_ids[-1] == tokenizer.end_id,
            source_pieces=tuple(pieces),
            source_tokens=tuple(map(tokenizer.source_piece_text, source_ids)),
            source_ids=tuple(source_ids),
            decoder_input_tokens=tuple(map(tokenizer.piece_text, decoder_input)),
            decoder_input_ids=tuple(decoder_input),
            target_tokens=tuple(map(tokenizer.piece_text, target_ids)),
            target_ids=tuple(target_ids),
            **{kind.value: to_array(_weights(seen, kind, interventions, size)) for kind, size in sizes.items()},
            target_probabilities=predicted.probabilities,
            target_ranks=predicted.ranks,
            entropies=predicted.entropies,
            candidate_ids=predicted.best_ids,
            candidate_probabilities=predicted.best_probabilities,
            candidate_tokens=tuple(tuple(map(tokenizer.piece_text, row)) for row in predicted.best_ids.tolist()),
            interventions=interventions,
            num_forced=len(tokenizer.forced_ids(source_text)),
        )

    @property
    def scored_steps(self) -> range:
        """Return the steps whose token was open to choice, the model's or a given target's: all but the forced ones."""
        return range(self.num_forced, len(self.target_ids))

    @property
    def log_probabilities(self) -> np.ndarray:
        """Return log P of each target token in nats, exactly 0 for a forced one: [target], float64."""
        log_p = np.log(np.maximum(self.target_probabilities, np.finfo(np.float32).tiny, dtype=np.float64))
        log_p[: self.num_forced] = 0.0
        return np.asarray(log_p)

    @property
    def log_probability(self) -> float:
        """Return log P of the target in nats, as `Hypothesis.log_probability` has it."""
        return float(self.log_probabilities.sum())

    @property
    def mean_log_probability(self) -> float:
        """Average log P in nats over the tokens that were not forced."""
        return self.log_probability / max(1, len(self.scored_steps))

    @property
    def never_chosen(self) -> frozenset[str]:
        """Return the tokens that decoding never chooses, whatever their probability: padding and begin of sentence."""
        return frozenset({"<pad>", self.decoder_input_tokens[0]} - {"</s>"})  # with which some models begin and all end

    @property
    def is_greedy(self) -> np.ndarray:
        """Return True where the target has the token that greedy decoding would take, or a forced one: [target]."""
        never = np.isin(np.array(self.candidate_tokens), list(self.never_chosen))
        above = never & (self.candidate_probabilities > self.target_probabilities[:, None])
        forced = np.arange(len(self.target_ids)) < self.num_forced
        return np.asarray(forced | (self.target_ranks - above.sum(axis=1) == 1))

    def runner_up(self, step: int) -> int:
        """Return the index among a step's candidates of the most probable one that the target might have had."""
        others = self.candidate_ids[step] != self.target_ids[step]
        return next(
            index
            for index, token in enumerate(self.candidate_tokens[step])
            if others[index] and token not in self.never_chosen
        )

    def has_room_after(self, step: int) -> bool:
        """Return True unless the step is the last one of a translation that was cut."""
        return self.finished or step + 1 < len(self.target_ids)

    def save(self, path: str | Path) -> None:
        """Write everything as one .npz of plain arrays (token texts as Unicode arrays, nothing pickled)."""
        save_fields(Path(path), vars(self))

    def to_inseq(self, path: str | Path) -> None:
        """Write maps and probabilities as a file of inseq: `inseq.FeatureAttributionOutput.load(path)` reads it."""
        save_inseq(path, vars(self))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file of `save`; raises DataError for anything else."""
        return cls(**load_fields(Path(path)))

    def to_frame(self) -> "pandas.DataFrame":
        """List every weight as a row of a table: kind, layer, head, query, key, query_token, output_token, key_token,
        weight. Layers, heads and positions count from 0; cells under the decoder's causal mask are left out.

        query_token: the token that a row reads, in the decoder its input; output_token: the one it predicts, missing in
        the encoder. Kinds and tokens are categories.
        """
        tokens = (*self.source_tokens, *self.decoder_input_tokens, *self.target_tokens)
        texts = dict.fromkeys(("query_token", "output_token", "key_token"), tokens)
        return frame_of("kind", {kind: _columns(self, kind) for kind in AttentionKind}, texts)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{kind} {list(self.attention(kind).shape)}" for kind in AttentionKind)
        return f"<Trace of {self.source_text!r} to {self.target_text!r}: {sizes}>"


def _columns(trace: Trace, kind: AttentionKind) -> dict[str, np.ndarray]:
    """Make the columns of `to_frame` for one kind, tokens as indices into source, decoder input and target."""
    columns = cell_columns(("layer", "head", "query", "key"), weight=masked_maps(trace, kind))
    unmasked = ~np.isnan(columns["weight"])
    columns = {name: column[unmasked] for name, column in columns.items()}
    weight, fed = columns.pop("weight"), len(trace.source_ids)
    predicted = fed + len(trace.target_ids)
    in_encoder = kind == AttentionKind.ENCODER
    return {
        **columns,
        "query_token": columns["query"] + (0 if in_encoder else fed),
        "output_token": np.full_like(columns["query"], -1) if in_encoder else columns["query"] + predicted,
        "key_token": columns["key"] + (fed if kind == AttentionKind.DECODER else 0),
        "weight": weight,
    }


def _weights(
    seen: Activations, kind: AttentionKind, interventions: tuple[Intervention, ...], size: tuple[int, int]
) -> torch.Tensor:
    """Return the weights after interventions, without padding: [layers, heads, queries, keys]."""
    cores = seen.attention(kind)
    weights = [rewritten_weights(core, interventions, kind, layer)[0] for layer, core in enumerate(cores)]
    return torch.stack(weights)[..., : size[0], : size[1]]


SPECIAL_TOKENS = ("<s>", "</s>", "<pad>")
Labels = tuple[str, ...]


class RowLabel(Name):
    """Token that a decoder row is named after: its input, the one it predicts, or both in this order."""

    FED = "fed"
    PREDICTED = "predicted"
    BOTH = "both"


@dataclass(frozen=True, eq=False)
class LabelledWeights:
    """Weights [queries, keys] with their labels, of layer and head, counted from 0.

    A decoder row has its input token, `fed`, and the token it predicts; an encoder row has only its own.
    """

    kind: AttentionKind
    layer: int | None
    head: int | None
    layers: int
    heads: int
    weights: np.ndarray
    fed: Labels
    predicted: Labels | None
    keys: Labels

    def named_rows(self, row_label: RowLabel | str) -> Labels:
        """Return the rows' labels, such as "▁Ich → ▁liebe" for both tokens; an encoder row has one alone."""
        return name_rows(self.fed, self.predicted, row_label)


def name_rows(fed: Labels, predicted: Labels | None, row_label: RowLabel | str) -> Labels:
    """Return the labels of rows that are fed one token and predict another, None in the encoder."""
    if row_label == RowLabel.FED or predicted is None:
        return fed
    if row_label == RowLabel.PREDICTED:
        return predicted
    return tuple(f"{each} → {following}" for each, following in zip(fed, predicted, strict=True))


@dataclass(frozen=True, eq=False)
class AttentionMap(LabelledWeights):
    """Weights whose masked cells are NaN, rows labelled as `row_label` says; a layer or head None is the average."""

    row_label: RowLabel

    @property
    def queries(self) -> tuple[str, ...]:
        """Return the rows' labels."""
        return self.named_rows(self.row_label)


def attention_map(
    trace: Trace,
    kind: AttentionKind | str,
    layer: int | None = None,
    head: int | None = None,
    row_label: RowLabel | str = RowLabel.FED,
) -> AttentionMap:
    """Return one head's map, or the average over layers, heads, or both; ValueError for an unknown layer or head."""
    kind, row_label = AttentionKind(kind), RowLabel(row_label)
    maps = masked_maps(trace, kind)
    layers, heads = maps.shape[:2]
    for name, value, count in (("layer", layer, layers), ("head", head, heads)):
        if value is not None:
            require_index(name, value, count)
    chosen = maps if layer is None else maps[layer : layer + 1]
    chosen = chosen if head is None else chosen[:, head : head + 1]
    weights = chosen.mean(axis=(0, 1))
    labels = row_and_column_labels(kind, trace.source_tokens, trace.decoder_input_tokens, trace.target_tokens)
    return AttentionMap(kind, layer, head, layers, heads, weights, *labels, row_label=row_label)


def keys_of(trace: Trace, kind: AttentionKind | str) -> Labels:
    """Return the tokens that a kind of attention reads."""
    return trace.decoder_input_tokens if kind == AttentionKind.DECODER else trace.source_tokens


def masked_maps(trace: Trace, kind: AttentionKind | str) -> np.ndarray:
    """Return all maps of a kind, [layers, heads, queries, keys], cells under the causal mask as NaN."""
    return blank_masked(trace.attention(kind), kind)


def blank_masked(maps: np.ndarray, kind: AttentionKind | str) -> np.ndarray:
    """Return maps of a kind, [..., queries, keys], with NaN where the causal mask of the decoder lies."""
    if kind != AttentionKind.DECODER:
        return maps
    return np.where(np.tri(maps.shape[-1], dtype=bool), maps, np.nan)


def row_and_column_labels(
    kind: AttentionKind, source: Labels, fed: Labels, following: Labels
) -> tuple[Labels, Labels | None, Labels]:
    """Return the tokens that rows read, the ones they predict (None for the encoder), and those of the columns."""
    if kind == AttentionKind.ENCODER:
        return source, None, source
    return fed, following, source if kind == AttentionKind.CROSS else fed
