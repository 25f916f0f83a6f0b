"""Greedy decoding of one stack, whose source and translation stand in one row."""

from collections.abc import Sequence

import torch

from ..data.batching import Ids
from ..model.one_stack import OneStack, row_mask
from .sampling import LENGTH_MARGIN


@torch.inference_mode()
def decode_greedily(model: OneStack, sources: Sequence[Ids], *, prefix: bool = False) -> list[list[int]]:
    """Return the most probable next token again and again until the end of sentence, for sources of one length.

    sources: ids with their end of sentence. The source is read once; each step computes the newest token alone.
    """
    config, size = model.config, len(sources[0])
    most = min(size + LENGTH_MARGIN, config.max_length - size)
    ids = torch.tensor([[*source, config.begin_id] for source in sources], device=model.device)
    caches = model.start_caches(len(sources), size + most)
    logits = model.step(ids, caches, row_mask(size + 1, size, prefix=prefix).to(model.device))
    chosen: list[torch.Tensor] = []
    ended = torch.zeros(len(sources), dtype=torch.bool, device=model.device)
    while True:
        logits[:, list(config.never_chosen)] = -torch.inf
        chosen.append(logits.argmax(dim=-1))
        ended |= chosen[-1] == config.end_id
        if ended.all() or len(chosen) == most:
            break
        logits = model.step(chosen[-1][:, None], caches)
    return [_until(config.end_id, row) for row in torch.stack(chosen, dim=1).tolist()]


def _until(end_id: int, ids: list[int]) -> list[int]:
    """Return the ids up to the first end of sentence, with it; all without one."""
    return ids[: ids.index(end_id) + 1] if end_id in ids else ids
