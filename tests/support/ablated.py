"""Heads whose outputs are set to zero (Michel et al. 2019), for tests that need a model without some."""

import contextlib
from collections.abc import Iterable

from transformer.interpret.what_if.running import apply_interventions
from transformer.model.transformer import Transformer


def zero_ablated(model: Transformer, heads: Iterable[tuple[str, int, int]]) -> contextlib.AbstractContextManager:
    """Within the block this thread's passes run without these heads: (kind, layer, head) each."""
    return apply_interventions(model, [f"zero:{kind}.{layer}.{head}" for kind, layer, head in heads])
