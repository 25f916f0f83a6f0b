"""DecoderLens: what the decoder makes of each encoder layer, as if it were the last (Langedijk et al. 2024)."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ...data.batching import Ids
from ...decoding.beam import Beam, beam_search
from ...decoding.sampling import Companions, Greedy, Hypothesis, Sampling, decode
from ...model.transformer import Transformer
from ..activations import Request, record_encoder

MORE_TOKENS = 8  # than the last layer's translation has: enough to see that a translation goes on


def decoder_lens(
    model: Transformer,
    source: Ids,
    strategy: Greedy | Sampling | Beam | None = None,
    prefix: Ids = (),
    more: int | None = None,
) -> list[Hypothesis]:
    """The best translation from the output of each encoder layer: [layers + 1], all decoded side by side.

    The first reads the embeddings with their positions, the last is the model's own. source: ids ending with end of
    sentence; prefix: ids that each begins with; greedy without a strategy; more: tokens after the end of the last
    layer's translation, for what finds no end, but of a beam search, whose ranking asks how long a translation might
    become. With pre-norm each layer's output goes through the encoder's last LayerNorm, as the last one's does; with
    post-norm each layer ends with its own. Raises ValueError for a source or prefix that does not fit the model.
    """
    if isinstance(strategy, Beam):
        memory = _read_early(model, [source])[:, 0]
        count = len(memory)
        return [found[0] for found in beam_search(model, [source] * count, strategy, [prefix] * count, memory)]
    return decoder_lenses(model, [source], strategy, [prefix], more)[0]


def decoder_lenses(
    model: Transformer,
    sources: Sequence[Ids],
    strategy: Greedy | Sampling | None = None,
    prefixes: Sequence[Ids] | None = None,
    more: int | None = None,
) -> list[list[Hypothesis]]:
    """The same for several sentences, all decoded side by side: [sentences][layers + 1]."""
    memory, count = _read_early(model, sources), len(sources)
    given = list(prefixes or [()] * count) * len(memory)
    last = range((len(memory) - 1) * count, len(memory) * count)
    stopped = {place: range(place % count, last.start, count) for place in last}
    companions = None if more is None else Companions(stopped, more)
    found = decode(model, [*sources] * len(memory), strategy or Greedy(), given, memory.flatten(0, 1), companions)
    return [found[number::count] for number in range(count)]


def kept_positions(ids: Ids, last: Ids) -> set[int]:
    """Return the positions in `ids` of the most tokens that stand in `last` in the same order: a longest common
    subsequence.
    """
    best: list[list[tuple[int, ...]]] = [[()] * (len(last) + 1)]
    for at, id in enumerate(ids):
        row: list[tuple[int, ...]] = [()]
        for other, above in enumerate(best[-1][1:]):
            diagonal = best[-1][other]
            row.append((*diagonal, at) if id == last[other] else max(above, row[-1], key=len))
        best.append(row)
    return set(best[-1][-1])


def _read_early(model: Transformer, sources: Sequence[Ids]) -> Tensor:
    """What the decoder reads of each layer: [layers + 1, sentences, source, d_model]."""
    calls = record_encoder(model, sources, Request(keep=("encoder_input", "encoder.*"))).calls
    outputs = torch.stack([call.output for (call,) in calls.values()])
    with torch.inference_mode():
        return model.encoder_norm(outputs)
