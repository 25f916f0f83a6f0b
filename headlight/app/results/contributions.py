"""What source and prefix contribute to the tokens of a translation, computed once and shared."""

import numpy as np

from transformer.interpret.attribution import Attribution, Occlusion, gradient_times_input, occlude
from transformer.interpret.rollout import Rollout, alti

from . import CheckpointFiles, TranslationRequest, _cached, samples, trace, translator

USUAL_PARTS, PAIRS_A_PART = 3, 10  # of a checkpoint's sentence pairs, for what is usual


@_cached(max_entries=32, show_spinner="Following the contributions …")
def contributions(request: TranslationRequest) -> Rollout:
    """Return the shares of source and prefix tokens in each vector of a text and its translation, by ALTI+."""
    sentence = trace(request)
    return alti(translator(request.checkpoint).model, sentence.source_ids, sentence.decoder_input_ids)


@_cached(max_entries=16, show_spinner="Measuring what is usual …")
def source_shares(checkpoint: CheckpointFiles, part: int) -> np.ndarray:
    """Return the source's share by ALTI+ in each output token, but forced ones, of one of USUAL_PARTS parts of the
    first sentence pairs, the references fed: [tokens].
    """
    model, pairs = translator(checkpoint).model, samples(checkpoint)[: USUAL_PARTS * PAIRS_A_PART]
    found = [alti(model, pair.source, pair.target[:-1]).source_share()[-1] for pair in pairs[part::USUAL_PARTS]]
    return np.concatenate([np.empty(0), *(shares[model.config.num_forced :] for shares in found)])


@_cached(max_entries=64, show_spinner=False)
def gradient(request: TranslationRequest, step: int, against: int | None = None) -> Attribution:
    """Return gradient times input for the token after a step, from 0; with `against`, for why not this id."""
    source, prefix, token = trace(request).before(step)
    return gradient_times_input(translator(request.checkpoint).model, source, prefix, token, against)


@_cached(max_entries=256, show_spinner=False)
def left_out(request: TranslationRequest, step: int, places: range, against: int | None = None) -> Occlusion:
    """Return what log P of the token after a step loses without each of these tokens, source first, then prefix.

    With `against`, log P less that of the token of this id.
    """
    source, prefix, token = trace(request).before(step)
    return occlude(translator(request.checkpoint).model, source, prefix, token, places, against)
