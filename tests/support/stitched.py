"""Attention as cached decoding computes it, row by row: what a replay must equal."""

from collections import defaultdict

import torch
from support.small import attention_blocks

from transformer.decoding.beam import beam_search
from transformer.decoding.sampling import Greedy, decode
from transformer.model.attention import attention_weights
from transformer.model.names import AttentionKind
from transformer.model.transformer import Transformer


def stitched_while_decoding(model: Transformer, source: list[int], strategy=None) -> tuple[dict, list[int]]:
    """Attention as cached decoding computes it, row by row, {(kind, layer): [heads, rows, keys]}, and what was fed."""
    rows = defaultdict(list)
    handles = []
    for kind in AttentionKind:
        for layer, block in enumerate(attention_blocks(model, kind)):

            def hook(core, arguments, output, place=(kind, layer)):
                query, key, _, mask, bias, scale = arguments
                rows[place].append(attention_weights(query, key, mask, bias, scale)[0])

            handles.append(block.core.register_forward_hook(hook))
    try:
        found = beam_search(model, [source], strategy)[0][0] if strategy else decode(model, [source], Greedy())[0]
    finally:
        for handle in handles:
            handle.remove()
    stitched = {}
    for (kind, layer), pieces in rows.items():
        keys = max(piece.shape[-1] for piece in pieces)
        padded = [torch.nn.functional.pad(piece, (0, keys - piece.shape[-1])) for piece in pieces]
        stitched[kind, layer] = torch.cat(padded, dim=1)
    return stitched, [model.config.begin_id, *found.ids[:-1]]
