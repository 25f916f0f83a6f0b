"""A padded batch of sentences run through the model with its masks, or with one of them disabled."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..arrays import require_index, to_array
from ..data.batching import BatchView, pad, piece_texts, view_batch
from ..data.tokenizer import TextTokenizer
from ..model.attention import causal_mask, input_mask, padding_mask, target_mask
from ..model.names import AttentionKind, Name
from ..model.transformer import Transformer
from .activations import Call, Request, predict, record, unmasked_of, weights_of
from .trace import LabelledWeights, Trace, row_and_column_labels


class DisabledMask(Name):
    """Mask that a pass runs without."""

    NOTHING = "nothing"
    CAUSAL = "causal"
    PADDING = "padding"


@dataclass(frozen=True, eq=False)
class CapturedAttention:
    """All attention of a kind in one pass over a batch.

    unmasked: [batch, queries, keys], True where a query might attend; weights: [layers, batch, heads, queries, keys].
    """

    unmasked: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True, eq=False)
class MaskedPass(BatchView):
    """One teacher-forced pass over a padded batch; floats are float32.

    The four masks are those of the batch, whatever was disabled; `unmasked` of each kind has the mask of the pass.
    target_probabilities: [batch, target], of `target_tokens`; best_tokens: its first choices,
    with best_probabilities. Rows of padding have numbers too, and they mean nothing. scored_steps: each sentence's
    steps whose token was open to choice, as `Trace.scored_steps` has them.
    """

    disabled: DisabledMask
    scored_steps: tuple[range, ...]
    encoder: CapturedAttention
    decoder: CapturedAttention
    cross: CapturedAttention
    target_probabilities: np.ndarray
    best_tokens: tuple[tuple[str, ...], ...]
    best_probabilities: np.ndarray

    def attention(self, kind: AttentionKind | str) -> CapturedAttention:
        """Return the attention of a kind: "encoder", "decoder" or "cross"; raises ValueError for another."""
        captured: CapturedAttention = getattr(self, AttentionKind(kind))
        return captured

    def lengths(self, kind: AttentionKind | str) -> tuple[int, ...]:
        """Count the rows of each sentence's maps of a kind that are tokens, the rest being padding."""
        return self.source_lengths if kind == AttentionKind.ENCODER else self.target_lengths


def view_sentences(sentences: Sequence[Trace], tokenizer: TextTokenizer) -> BatchView:
    """View the sentences and their targets as one padded batch with its masks, before any model runs."""
    return _view(sentences, _padded(sentences, tokenizer.pad_id), tokenizer)


def run_masked(
    model: Transformer,
    tokenizer: TextTokenizer,
    sentences: Sequence[Trace],
    disabled: DisabledMask | str = DisabledMask.NOTHING,
) -> MaskedPass:
    """Run the sentences and their targets side by side, padded on the right, with every attention captured.

    disabled: "causal" lets every decoder row read later tokens in every layer, "padding" lets every attention read
    <pad>; the other mask stays. The model itself is not touched. Raises ValueError for an unknown mask, an empty batch,
    or a model in training mode.
    """
    disabled = DisabledMask(disabled)
    if not sentences:
        raise ValueError("run_masked expects sentences, got none")
    sides = source, decoder_input, target = _padded(sentences, model.config.pad_id, model.device)
    source_mask, decoder_mask = _masks(source, decoder_input, model.config.pad_id, disabled)
    request = Request(source_mask=source_mask, target_mask=decoder_mask)
    sources, decoder_inputs = [each.source_ids for each in sentences], [each.decoder_input_ids for each in sentences]
    seen = record(model, sources, decoder_inputs, request)
    predicted = predict(seen.logits, target, 1)
    return MaskedPass(
        **vars(_view(sentences, sides, tokenizer)),
        disabled=disabled,
        scored_steps=tuple(each.scored_steps for each in sentences),
        **{kind.value: _captured(seen.attention(kind)) for kind in AttentionKind},  # type: ignore[arg-type]
        target_probabilities=predicted.probabilities,
        best_tokens=piece_texts(predicted.best_ids[..., 0].tolist(), tokenizer.piece_text),
        best_probabilities=predicted.best_probabilities[..., 0],
    )


def _padded(sentences: Sequence[Trace], pad_id: int, device: torch.device | None = None) -> list[Tensor]:
    """Return the ids of the sources, of the decoder's inputs and of its targets: [batch, longest] each."""
    names = ("source_ids", "decoder_input_ids", "target_ids")
    return [pad([getattr(each, name) for each in sentences], pad_id, device) for name in names]


def _view(sentences: Sequence[Trace], sides: Sequence[Tensor], tokenizer: TextTokenizer) -> BatchView:
    source, decoder_input, target = sides
    lengths = [(len(each.source_ids), len(each.decoder_input_ids)) for each in sentences]
    return view_batch(source, decoder_input, target, lengths, tokenizer)


def _masks(source: Tensor, decoder_input: Tensor, pad_id: int, disabled: DisabledMask) -> tuple[Tensor, Tensor]:
    """Return the masks to run with: for keys of the source, and for keys of the target."""
    of_source, of_input = padding_mask(source, pad_id), input_mask(decoder_input, pad_id)
    if disabled == DisabledMask.CAUSAL:
        return of_source, of_input
    if disabled == DisabledMask.PADDING:
        return torch.ones_like(of_source), causal_mask(decoder_input.shape[1], decoder_input.device)
    return of_source, target_mask(decoder_input, pad_id)


def _captured(cores: list[Call]) -> CapturedAttention:
    weights = torch.stack([weights_of(core) for core in cores])
    return CapturedAttention(unmasked=to_array(unmasked_of(cores[0])), weights=to_array(weights))


@dataclass(frozen=True, eq=False)
class MaskedHead(LabelledWeights):
    """A head of a padded batch; unmasked: [queries, keys] like the weights.

    The sentence counts from 0. The first `real_queries` rows are tokens, the others are padding.
    """

    sentence: int
    unmasked: np.ndarray
    real_queries: int


def masked_head(run: MaskedPass, kind: AttentionKind | str, sentence: int, layer: int, head: int) -> MaskedHead:
    """Pick one head of one sentence of a pass; raises ValueError for unknown ones."""
    kind, captured = AttentionKind(kind), run.attention(kind)
    layers, batch, heads = captured.weights.shape[:3]
    for name, value, count in (("sentence", sentence, batch), ("layer", layer, layers), ("head", head, heads)):
        require_index(name, value, count)
    index = layer, sentence, head
    labels = row_and_column_labels(
        kind, run.source_tokens[sentence], run.decoder_input_tokens[sentence], run.target_tokens[sentence]
    )
    return MaskedHead(
        *(kind, layer, head, layers, heads, captured.weights[index], *labels),
        sentence=sentence,
        unmasked=captured.unmasked[sentence],
        real_queries=run.lengths(kind)[sentence],
    )


def leaked_weights(masked: MaskedPass, disabled: MaskedPass, kind: AttentionKind | str, sentence: int) -> np.ndarray:
    """Sum the weights of masked cells without the mask: [layers, heads, real queries]; ValueError for unlike sizes."""
    unmasked, weights = masked.attention(kind).unmasked, disabled.attention(kind).weights
    if unmasked.shape[-2:] != weights.shape[-2:]:
        raise ValueError(f"the passes differ in size: {unmasked.shape[-2:]} and {weights.shape[-2:]}")
    leaked = np.where(unmasked[sentence], 0.0, weights[:, sentence])
    return np.asarray(leaked.sum(axis=-1)[..., : masked.lengths(kind)[sentence]])


def leakiest_head(
    masked: MaskedPass, disabled: MaskedPass, kind: AttentionKind | str, sentence: int
) -> tuple[int, int] | None:
    """Return layer and head, from 0, that give masked cells the most weight on average; None where nothing can leak."""
    rows = rows_that_may_leak(masked, disabled, kind, sentence)
    if not rows.any():
        return None
    means = leaked_weights(masked, disabled, kind, sentence)[..., rows].mean(axis=-1)
    layer, head = np.unravel_index(means.argmax(), means.shape)
    return int(layer), int(head)


def rows_that_may_leak(
    masked: MaskedPass, disabled: MaskedPass, kind: AttentionKind | str, sentence: int
) -> np.ndarray:
    """Mark real rows in which the disabled mask would have masked a cell: [real queries].

    The decoder's last row has no later token, and padding stays masked in it when the causal mask is disabled.
    """
    gained = disabled.attention(kind).unmasked[sentence] & ~masked.attention(kind).unmasked[sentence]
    return np.asarray(gained[: masked.lengths(kind)[sentence]].any(axis=-1))
