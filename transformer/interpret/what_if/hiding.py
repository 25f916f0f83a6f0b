"""Source words hidden from the decoder: the translation without each, all of them decoded side by side.

Attention knockout (Geva et al. 2023) of one word in every head of cross-attention and every row. The encoder still
reads the word, so that its neighbours still contain a part of it.
"""

from collections.abc import Sequence

import torch

from ...data.batching import Ids, pad
from ...decoding.sampling import Greedy, Hypothesis, decode
from ...model.names import AttentionKind
from ...model.transformer import Transformer
from .intervention import Forbid


def hide(positions: Sequence[int]) -> tuple[Forbid, ...]:
    """Return the interventions that hide source positions, from 0, from every head of cross-attention."""
    return tuple(Forbid(AttentionKind.CROSS, key=position) for position in positions)


@torch.inference_mode()
def translate_without_each(
    model: Transformer, source: Ids, hidden: Sequence[Sequence[int]], prefix: Ids = ()
) -> list[Hypothesis]:
    """Translate greedily once for each set of hidden source positions, from 0: [sets].

    source: ids ending with end of sentence, which is encoded once; prefix: ids that each translation begins with.
    The same ids as decoding under `hide` gives. Raises ValueError for a position that is not there, or a set that
    leaves nothing to read.
    """
    mask = torch.zeros(len(hidden), len(source), dtype=torch.bool)
    for row, positions in enumerate(hidden):
        if not all(0 <= position < len(source) for position in positions) or len(set(positions)) >= len(source):
            raise ValueError(f"cannot hide {list(positions)} of {len(source)} positions")
        mask[row, list(positions)] = True
    if not hidden:
        return []
    memory = model.encode(pad([source], model.config.pad_id, model.device), None).expand(len(hidden), -1, -1)
    count = len(hidden)
    return decode(model, [source] * count, Greedy(), [prefix] * count, memory, hidden=mask)
