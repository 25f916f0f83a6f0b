"""DecoderLens: what the decoder makes of each encoder layer, as if it were the last (Langedijk et al. 2024)."""

import torch

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
    layers = [f"encoder.{layer}" for layer in range(len(model.encoder))]
    seen = record_encoder(model, [source], Request(keep=("positions", *layers)))
    outputs = torch.cat([seen.calls[name][0].output for name in ("positions", *layers)])  # layers+1 source d_model
    with torch.inference_mode():
        memory = model.encoder_norm(outputs)
    count = len(memory)
    sources, prefixes = [source] * count, [prefix] * count
    if isinstance(strategy, Beam):
        return [found[0] for found in beam_search(model, sources, strategy, prefixes, memory)]
    return decode(model, sources, strategy, prefixes, memory, most)
