"""How much each attention head matters: what a translation loses in log-probability when that head alone is ablated.

The head of one sentence: all heads at once, each in a copy of the sentence of its own, in one batch. Of a corpus: one
pass a head over batches of sentences (Michel et al. 2019, 3.2, with log-probability in the place of BLEU).
"""

import csv
import io
import logging
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ...arrays import read_only, to_array, widened
from ...data.batching import Example, Examples, Ids, epoch_batches, make_examples, pad
from ...data.pairs import TextPairs
from ...data.tokenizer import TextTokenizer
from ...decoding.sampling import forbid_specials, most_probable
from ...errors import CheckpointError, ConfigError
from ...files import load_checksummed, save_checksummed, write_atomically
from ...frames import cell_columns, frame_of
from ...model.attention import causal_mask
from ...model.names import AttentionKind
from ...model.transformer import Transformer
from ..activations import EncoderActivations, Request, record_decoder, record_encoder
from .intervention import Heads, Intervention, Mean, Uniform, Zero
from .running import Means, apply_interventions, apply_interventions_side_by_side, measure_means

if TYPE_CHECKING:
    import pandas

    from ...model.distributed import Processes

Ablate = type[Intervention]
ABLATIONS: dict[str, Ablate] = {each.name: each for each in (Zero, Mean, Uniform)}  # by name, on pages and in commands
_NOTHING = Request(keep=(), logits_to_keep=1)  # the logits are computed below, a few sentences at a time
_LOGITS_AT_ONCE = 2**21  # 8 MB: faster than more, and no memory to speak of with a large vocabulary


@dataclass(frozen=True, eq=False)
class HeadImportance:
    """What log P lost without each head, in nats; a negative loss says that the translation became likelier. A first
    token that is forced (`ModelConfig.num_forced`) counts in no number: of one sentence it has 0 everywhere.

    encoder, decoder, cross: [layers, heads, target] for the tokens of one sentence, [layers, heads] for the mean over
    the tokens of a corpus. log_probabilities: with all heads, [target]; the mean of a corpus, []. turned: of one
    sentence, the heads of each kind without which some token of the target is no longer the most probable one, so that
    greedy decoding leaves this target, [layers, heads]; None of a corpus. Arrays are read-only.
    """

    encoder: np.ndarray
    decoder: np.ndarray
    cross: np.ndarray
    log_probabilities: np.ndarray
    turned: Mapping[str, np.ndarray] | None = None

    def of(self, kind: AttentionKind | str) -> np.ndarray:
        """Return the losses of a kind; raises ValueError for another."""
        losses: np.ndarray = getattr(self, AttentionKind(kind))
        return losses

    def total(self, kind: AttentionKind | str) -> np.ndarray:
        """Return a kind's losses of log P of the whole translation, or of a corpus's mean token: [layers, heads]."""
        losses = self.of(kind)
        return losses.sum(axis=-1) if losses.ndim == 3 else losses

    def to_frame(self) -> "pandas.DataFrame":
        """List the losses, in nats: kind, layer, head, of one sentence step, and loss; all count from 0."""
        axes = ("layer", "head", "step")[: self.encoder.ndim]
        return frame_of("kind", {kind: cell_columns(axes, loss=self.of(kind)) for kind in AttentionKind})

    def ranked(self) -> list[tuple[Heads, float]]:
        """Return every head with its total loss, the largest first."""
        losses = ((kind, *each) for kind in AttentionKind for each in np.ndenumerate(self.total(kind)))
        return sorted(((Heads(kind, *head), float(loss)) for kind, head, loss in losses), key=lambda each: -each[1])

    def default_head(self) -> Heads:
        """Return the head of the greatest loss: of those that turn the translation, and else of all."""
        ranked = [head for head, _ in self.ranked()]
        turning = (head for head in ranked if self.turned and self.turned[head.kind][head.layer, head.head])
        return next(turning, ranked[0])


def ablation_named(name: str) -> Ablate:
    """Return the ablation of this name; raises ValueError for another."""
    if name not in ABLATIONS:
        raise ValueError(f"ablation must be one of {', '.join(ABLATIONS)}, got {name!r}")
    return ABLATIONS[name]


def every_head(model: Transformer, kinds: Iterable[AttentionKind] = AttentionKind) -> list[Heads]:
    """List the heads of some kinds of attention, layer by layer."""
    return [
        Heads(kind, layer, head)
        for kind in kinds
        for layer, head in product(range(len(getattr(model, kind.stack))), range(model.config.num_heads))
    ]


def head_importance(
    model: Transformer, source: Ids, target: Ids, ablate: Ablate = Zero, means: Means | None = None
) -> HeadImportance:
    """Measure what each token of a translation, ids such as `Hypothesis.ids`, loses without each head."""
    return joined(model, [head_losses(model, source, target, every_head(model), ablate, means)])


@dataclass(frozen=True, eq=False)
class HeadLosses:
    """What each token of a translation loses without each of some heads, see `HeadImportance`: losses [heads, target],
    turned [heads], log_probabilities [target].
    """

    heads: Sequence[Heads]
    losses: np.ndarray
    turned: np.ndarray
    log_probabilities: np.ndarray


@torch.inference_mode()
def head_losses(
    model: Transformer,
    source: Ids,
    target: Ids,
    heads: Sequence[Heads],
    ablate: Ablate = Zero,
    means: Means | None = None,
) -> HeadLosses:
    """Measure what each token loses without each of some heads, in one batch that grows from layer to layer.

    Below its own layer a head changes nothing, so its copy of the sentence begins there. source: ids ending with end of
    sentence; target: ids without begin of sentence. Raises ValueError for a model in training mode.
    """
    if model.training:
        raise ValueError("head importance expects a model in eval mode, got one in training mode")
    by_layer = sorted(heads, key=lambda head: head.layer or 0)
    of_encoder = [head for head in by_layer if head.kind == AttentionKind.ENCODER]
    of_decoder = [head for head in by_layer if head.kind != AttentionKind.ENCODER]
    copies = [*of_encoder, *of_decoder]
    sources = torch.tensor([source], device=model.device)
    following = torch.tensor([target], device=model.device)
    fed = torch.tensor([[model.config.begin_id, *target[:-1]]], device=model.device)
    mask = causal_mask(fed.shape[1], model.device)

    with apply_interventions_side_by_side(model, [(), *([ablate.of(head)] for head in copies)], means):
        memory = model.encoder_input(sources)
        for number, layer in enumerate(model.encoder):
            memory = layer(_with_copies(memory, of_encoder, number), None)
        memory = model.encoder_norm(memory)
        memory = torch.cat([memory, memory[:1].expand(len(of_decoder), -1, -1)])

        hidden = model.decoder_input(fed).expand(1 + len(of_encoder), -1, -1)
        for number, layer in enumerate(model.decoder):
            hidden = _with_copies(hidden, of_decoder, number)
            hidden = layer(hidden, memory[: len(hidden)], mask, None)
        hidden = model.decoder_norm(hidden)

    forced = model.config.num_forced
    scored = [
        ((_most_probable(logits, model) != ids).any(dim=-1), _log_probabilities(logits, ids))
        for logits, ids in _logits(model, hidden[:, forced:], following[:, forced:].expand(len(hidden), -1))
    ]
    turned, log_p = (to_array(torch.cat(parts)) for parts in zip(*scored, strict=True))
    log_p = np.pad(log_p, ((0, 0), (forced, 0)))
    row_of = {head: row for row, head in enumerate(copies, start=1)}
    rows = [row_of[head] for head in heads]
    losses = log_p[:1].astype(np.float64) - log_p[rows]
    return HeadLosses(tuple(heads), read_only(losses), read_only(turned[rows]), read_only(log_p[0]))


def joined(model: Transformer, parts: Sequence[HeadLosses]) -> HeadImportance:
    """Join the losses of parts that have each head once."""
    row_of = {head: row for row, head in enumerate(head for part in parts for head in part.heads)}
    rows = [row_of[head] for head in every_head(model)]
    losses = np.concatenate([part.losses for part in parts])[rows]
    turned = MappingProxyType(_by_kind(model, np.concatenate([part.turned for part in parts])[rows]))
    return HeadImportance(**_by_kind(model, losses), log_probabilities=parts[0].log_probabilities, turned=turned)


def _with_copies(x: Tensor, heads: Iterable[Heads], layer: int) -> Tensor:
    """Put the unchanged sentence, a batch's first, once behind it for each of the heads in this layer."""
    return torch.cat([x, x[:1].expand(sum(head.layer == layer for head in heads), -1, -1)])


def _by_kind(model: Transformer, losses: np.ndarray) -> dict[str, np.ndarray]:
    """Split losses of all heads, [heads of all kinds, ...], into one array a kind: [layers, heads, ...]."""
    counts = [len(every_head(model, [kind])) for kind in AttentionKind]
    parts = np.split(losses, np.cumsum(counts)[:-1])
    shape = (-1, model.config.num_heads, *losses.shape[1:])
    return {kind.value: read_only(part.reshape(shape)) for kind, part in zip(AttentionKind, parts, strict=True)}


@torch.inference_mode()
def target_log_probabilities(model: Transformer, hidden: Tensor, target: Tensor) -> Tensor:
    """Compute log P of each target id, [batch, target], from the decoder's vectors, [batch, target, d_model].

    A few sentences at a time, so that the logits of all are never there at once.
    """
    return torch.cat([_log_probabilities(logits, ids) for logits, ids in _logits(model, hidden, target)])


def _logits(model: Transformer, hidden: Tensor, target: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the logits of a few sentences at a time, with their targets."""
    at_once = max(1, _LOGITS_AT_ONCE // (hidden.shape[1] * model.config.output_size))
    for some, ids in zip(torch.split(hidden, at_once), torch.split(target, at_once), strict=True):
        yield widened(model.output_projection(some)), ids


def _log_probabilities(logits: Tensor, ids: Tensor) -> Tensor:
    """Compute log P of the ids; the logits are overwritten, since room for as many again would take longer."""
    peak, chosen = logits.amax(dim=-1, keepdim=True), logits.gather(-1, ids[..., None])
    return (chosen - peak - logits.sub_(peak).exp_().sum(dim=-1, keepdim=True).log_())[..., 0]


def _most_probable(logits: Tensor, model: Transformer) -> Tensor:
    """Return the ids that greedy decoding chooses: [..., vocab] -> [...]."""
    never = list(model.config.never_chosen)
    scores = logits[..., never]
    best = most_probable(forbid_specials(logits, model).flatten(0, -2)).view(logits.shape[:-1])
    logits[..., never] = scores
    return best


def summed_losses(
    model: Transformer, batch: Sequence[Example], ablate: Ablate = Zero, means: Means | None = None
) -> np.ndarray:
    """Sum over a batch's scored tokens what each loses without each head; last, their log P itself.

    -> [heads of all kinds + 1], float64, to be added up over batches and then given to `mean_importance`.
    """
    sources, fed = [each.source for each in batch], [each.target[:-1] for each in batch]
    following = pad([each.target[1:] for each in batch], model.config.pad_id, model.device)
    lengths = torch.tensor([len(row) for row in fed], device=model.device)
    steps = torch.arange(following.shape[1], device=model.device)
    scored = (steps >= model.config.num_forced) & (steps < lengths[:, None])

    def total(encoder: EncoderActivations) -> float:
        seen = record_decoder(model, encoder, fed, _NOTHING)
        return float(to_array(target_log_probabilities(model, seen.hidden, following)[scored]).sum(dtype=np.float64))

    encoder = record_encoder(model, sources, _NOTHING)
    whole, sums = total(encoder), []
    for head in every_head(model):
        with apply_interventions(model, [ablate.of(head)], means):
            changed = record_encoder(model, sources, _NOTHING) if head.kind == AttentionKind.ENCODER else encoder
            sums.append(whole - total(changed))
    return np.array([*sums, whole])


def mean_importance(model: Transformer, sums: np.ndarray, tokens: int) -> HeadImportance:
    """Divide what `summed_losses` gave, added up over batches, by so many target tokens."""
    means = np.asarray(sums, dtype=np.float64) / tokens
    return HeadImportance(**_by_kind(model, means[:-1]), log_probabilities=read_only(means[-1:].reshape(())))  # type: ignore[arg-type]


logger = logging.getLogger(__name__)

_TOKENS_A_BATCH = 512  # a pass for each head: small enough that seconds, not minutes, are lost when it is stopped


class SavedSums:
    """What was measured so far, on disk: sums over the first `rounds` rounds."""

    def __init__(self, path: Path, fingerprint: int) -> None:
        self.path, self.fingerprint = path, fingerprint

    def save(self, sums: np.ndarray, rounds: int) -> None:
        """Write them whole; raises OSError."""
        counts = torch.tensor([rounds, self.fingerprint])
        save_checksummed(self.path, {"sums": torch.from_numpy(sums), "counts": counts})

    def load(self) -> tuple[np.ndarray, int]:
        """Read what `save` wrote; raises CheckpointError for a damaged file, or one of another model or corpus."""
        tensors = load_checksummed(self.path)
        rounds, fingerprint = tensors["counts"].tolist()
        if fingerprint != self.fingerprint:
            raise CheckpointError(f"{self.path} was measured with another model, other pairs or other batches.")
        return tensors["sums"].numpy().copy(), rounds


def measure_importance(
    model: Transformer,
    examples: Examples,
    ablate: Ablate | str = Zero,
    means: Means | None = None,
    *,
    saved: Path | None = None,
    resume: bool = False,
    processes: "Processes | None" = None,
    progress: Callable[[int], None] | None = None,
) -> HeadImportance:
    """Measure the mean loss of a scored target token's log P without each head, targets teacher-forced.

    ablate: an ablation or its name, "zero", "mean" or "uniform"; means: for "mean", else those over the same examples.
    `progress` is told how many sentences are done. saved: a file for what is done so far, deleted in the end; with
    `resume` it is gone on with, where it is there. With several processes all call this alike, each takes its share of
    the batches, and all get the same. Raises ValueError without examples or for another ablation, ConfigError where
    `saved` is there and is not to be resumed, CheckpointError where it is of something else, and OSError where it
    cannot be written.
    """
    if not examples:
        raise ValueError("at least one sentence pair expected")
    from ...model.distributed import Processes  # the app needs none

    ablate = ablation_named(ablate) if isinstance(ablate, str) else ablate
    means = measure_means(model, examples) if ablate is Mean and means is None else means
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
        shared = [summed_losses(model, batch, ablate, means) for batch in processes.share(some)]
        sums = sums + np.array(processes.sums(*sum(shared, np.zeros_like(sums))))
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
    """Return a number that another model, corpus, ablation or number of processes does not have."""
    value = zlib.crc32(repr(([(each.source, each.target) for each in examples], ablate, processes)).encode())
    for parameter in model.parameters():
        value = zlib.crc32(parameter.detach().cpu().contiguous().flatten().view(torch.uint8).numpy(), value)  # type: ignore[arg-type]
    return value


def write_importance(
    out: Path,
    model: Transformer,
    tokenizer: TextTokenizer,
    pairs: TextPairs,
    *,
    ablation: str = Zero.name,
    resume: bool = False,
    processes: "Processes | None" = None,
    reporter: Callable[[int], Callable[[int], None]] | None = None,
) -> None:
    """Measure all heads over sentence pairs into a CSV file, as `measure_importance` does; "OUT.part" is what is saved.

    `reporter` makes the progress callback from the number of sentences. Raises DataError where no pair fits the model.
    """
    from ...model.distributed import Processes  # the app needs none

    processes = processes or Processes()
    examples = make_examples(pairs, tokenizer, model.config.max_length)
    saved, progress = out.with_name(f"{out.name}.part"), reporter(len(examples)) if reporter else None
    measured = measure_importance(
        model, examples, ablation, saved=saved, resume=resume, processes=processes, progress=progress
    )
    if processes.first:
        write_table(out, measured, ablation)
        logger.info("%d sentences, log P of a token %.3f on average", len(examples), measured.log_probabilities)
        for heads, loss in measured.ranked()[:3]:
            logger.info("without %s layer %d head %d: %.3f less", heads.kind, heads.layer + 1, heads.head + 1, loss)  # type: ignore[operator]


def write_table(path: Path, importance: HeadImportance, ablation: str = Zero.name) -> None:
    """Write a corpus's losses as CSV, the most important head first; raises OSError.

    Layers and heads count from 1, as on the pages; `intervention` is the text of the ablation, which counts from 0.
    """
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["kind", "layer", "head", "loss_in_nats_a_token", "intervention"])
    for heads, loss in importance.ranked():
        rows.writerow([heads.kind, heads.layer + 1, heads.head + 1, f"{loss:.6f}", f"{ablation}:{heads}"])  # type: ignore[operator]
    write_atomically(path, text.getvalue().encode())
