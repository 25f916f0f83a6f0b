"""DecoderLens: what the decoder makes of each encoder layer, as if it were the last (Langedijk et al. 2024)."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ...data.batching import Ids
from ...decoding.beam import Beam, beam_search
from ...decoding.sampling import Greedy, Hypothesis, Sampling, decode
from ...model.transformer import Transformer
from ..activations import Request, record_encoder

MORE_TOKENS = 12  # than the last layer's translation has: enough to see that a translation finds no end


def decoder_lens(
    model: Transformer,
    source: Ids,
    strategy: Greedy | Sampling | Beam | None = None,
    prefix: Ids = (),
    most: int | None = None,
) -> list[Hypothesis]:
    """The best translation from the output of each encoder layer: [layers + 1], all decoded side by side.

    The first reads the embeddings with their positions, the last is the model's own. source: ids ending with end of
    sentence; prefix: ids that each begins with; greedy without a strategy; most: tokens that each has at most, for what
    finds no end, but of a beam search, whose ranking asks how long a translation might become. With pre-norm each
    layer's output goes through the encoder's last LayerNorm, as the last one's does; with post-norm each layer ends
    with its own. Raises ValueError for a source or prefix that does not fit the model.
    """
    strategy = strategy or Greedy()
    memory = _read_early(model, [source])[:, 0]
    count = len(memory)
    sources, prefixes = [source] * count, [prefix] * count
    if isinstance(strategy, Beam):
        return [found[0] for found in beam_search(model, sources, strategy, prefixes, memory)]
    return decode(model, sources, strategy, prefixes, memory, None if most is None else [most] * count)


def early_layers(model: Transformer, sources: Sequence[Ids], translations: Sequence[Ids]) -> list[list[Hypothesis]]:
    """What greedy decoding finds from all layers but the last, for several sentences side by side: [sentences][layers].

    translations: what it has found from the last layer of each; what finds no end is stopped `MORE_TOKENS` after that.
    """
    memory = _read_early(model, sources)[:-1]
    most = [len(translation) + MORE_TOKENS for translation in translations]
    found = decode(model, [*sources] * len(memory), Greedy(), None, memory.flatten(0, 1), most * len(memory))
    return [found[number :: len(sources)] for number in range(len(sources))]


def _read_early(model: Transformer, sources: Sequence[Ids]) -> Tensor:
    """What the decoder reads of each layer: [layers + 1, sentences, source, d_model]."""
    layers = [f"encoder.{layer}" for layer in range(len(model.encoder))]
    seen = record_encoder(model, sources, Request(keep=("positions", *layers)))
    outputs = torch.stack([seen.calls[name][0].output for name in ("positions", *layers)])
    with torch.inference_mode():
        return model.encoder_norm(outputs)
