"""One teacher-forced pass with every attention observed."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..model.attention import attention_weights, causal_mask
from ..model.transformer import Transformer
from .hooks import watched


@dataclass(frozen=True)
class Recording:
    """What one teacher-forced pass showed.

    encoder: [layers, heads, source, source], decoder: [layers, heads, target, target],
    cross: [layers, heads, target, source], logits: [target, vocab].
    """

    encoder: Tensor
    decoder: Tensor
    cross: Tensor
    logits: Tensor


@dataclass(frozen=True)
class SourceRecording:
    """What the encoder's pass showed: its maps [layers, heads, source, source] and the memory [1, source, d_model]."""

    encoder: Tensor
    memory: Tensor


def record(model: Transformer, source: Sequence[int], fed: Sequence[int]) -> Recording:
    """One teacher-forced pass over one sentence with every attention watched.

    source: ids ending with end of sentence; fed: ids beginning with begin of sentence, what the decoder reads.
    The logits are bit-identical to an unobserved pass. Raises ValueError when the model is in training mode, whose
    dropout would make the maps of one pass differ from the next.
    """
    return record_target(model, record_source(model, source), fed)


@torch.inference_mode()
def record_source(model: Transformer, source: Sequence[int]) -> SourceRecording:
    """The encoder's half of `record`; its memory may serve to decode before the other half."""
    with watched(model, "encoder", _weights) as maps:
        memory = model.encode(torch.tensor([list(source)], device=model.device), None)  # one sentence: no padding
    return SourceRecording(torch.stack(maps), memory)


@torch.inference_mode()
def record_target(model: Transformer, seen: SourceRecording, fed: Sequence[int]) -> Recording:
    """The decoder's half of `record`."""
    target = torch.tensor([list(fed)], device=model.device)
    with watched(model, "decoder", _weights) as decoder, watched(model, "cross", _weights) as cross:
        hidden = model.decode(target, seen.memory, causal_mask(len(fed), model.device), None)
        logits = model.generator(hidden)
    return Recording(seen.encoder, torch.stack(decoder), torch.stack(cross), logits[0])


def _weights(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, output: Tensor) -> Tensor:
    """The weights of a batch of one sentence: [heads, queries, keys]."""
    return attention_weights(query, key, mask)[0]
