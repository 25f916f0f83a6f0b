"""Findings on one stack: how it reads while it writes, and what an open source changes."""

import numpy as np

from headlight.app.finding import Finding, Templates
from transformer.interpret.one_stack import BlockName, OneStackTrace

TEMPLATES = Templates.beside(__file__)


def describe_reading(trace: OneStackTrace, index: tuple[int, int]) -> Finding:
    """Divide what the rows of the translation read: source words, end of the source, what is written.

    index: layer and head for the details, from 0; the headline is the mean over all heads.
    """
    block = trace.block(BlockName.TARGET_ON_SOURCE)
    end = block.weights[..., -1].mean(axis=-1)
    words = block.shares - end
    layers, heads = words.shape
    finding = TEMPLATES("reads", words=float(words.mean()))
    rest = TEMPLATES("rest", end=float(end.mean()), target=1 - block.weight, heads=layers * heads)
    here = TEMPLATES("here", words=float(words[index]), end=float(end[index]), target=1 - float(block.shares[index]))
    return finding.followed_by(rest, here)


def describe_prefix(causal: OneStackTrace, opened: OneStackTrace) -> Finding:
    """Compare the translations with the causal mask and with an open source."""
    if causal.target_ids != opened.target_ids:
        return TEMPLATES("other_words").followed_by(
            TEMPLATES("was", text=causal.target_text or "–"), TEMPLATES("outside")
        )
    was, now = (float(np.mean(trace.target_probabilities)) for trace in (causal, opened))
    return TEMPLATES("same_words").followed_by(TEMPLATES("probabilities", was=was, now=now), TEMPLATES("outside"))
