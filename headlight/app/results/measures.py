"""Cached measurements of a sentence, or over a checkpoint's sentence pairs."""

from dataclasses import replace

import numpy as np

from transformer.data.batching import BatchView
from transformer.evaluation import Confidence, measure_confidence
from transformer.interpret import positions
from transformer.interpret.attention_block import (
    BlockParameters,
    Stages,
    block_parameters,
    compute_stages,
    differences,
    stages_of,
)
from transformer.interpret.attribution import Attribution, Occlusion, gradient_times_input, lost_without_each, occlude
from transformer.interpret.mask_ablation import MaskedPass, run_masked, view_sentences
from transformer.interpret.positions import EmbeddingSum, without_positions
from transformer.interpret.relative_positions import Moved, move_sentence
from transformer.interpret.rollout import Rollout, alti

from . import CheckpointFiles, TranslationRequest, cached, recorded, samples, trace, translator

USUAL_PARTS, PAIRS_PER_PART = 3, 10  # of a checkpoint's sentence pairs, for the usual share of the source


@cached(max_entries=32, show_spinner="Reading the block …")
def stages(request: TranslationRequest, kind: str, layer: int) -> tuple[Stages, BlockParameters, dict[str, float]]:
    """Return one attention block's stages for a text, its parameters, and the differences between both."""
    model = translator(request.checkpoint).model
    parameters = block_parameters(model, kind, layer)
    shown = stages_of(model, recorded(request)[1], kind, layer)
    computed = compute_stages(shown.residual, shown.memory if kind == "cross" else None, shown.unmasked, parameters)
    return shown, parameters, differences(shown, computed)


@cached(max_entries=32, show_spinner="Following the contributions …")
def contributions(request: TranslationRequest) -> Rollout:
    """Return the shares of source and prefix tokens in each vector of a text and its translation, by ALTI+."""
    sentence = trace(request)
    return alti(translator(request.checkpoint).model, sentence.source_ids, sentence.decoder_input_ids)


@cached(max_entries=16, show_spinner="Measuring what is usual …")
def source_shares(checkpoint: CheckpointFiles, part: int) -> np.ndarray:
    """Return the source's share by ALTI+ in each output token, but forced ones, of one of USUAL_PARTS parts of the
    first sentence pairs, the references fed: [tokens].
    """
    model, pairs = translator(checkpoint).model, samples(checkpoint)[: USUAL_PARTS * PAIRS_PER_PART]
    rollouts = (alti(model, pair.source, pair.target[:-1]) for pair in pairs[part::USUAL_PARTS])
    return np.concatenate([np.empty(0), *(each.source_share()[-1][model.config.num_forced :] for each in rollouts)])


@cached(max_entries=64, show_spinner=False)
def gradient(request: TranslationRequest, step: int, against: int | None = None) -> Attribution:
    """Return gradient times input for the token after a step, from 0; with `against`, for its lead over that id."""
    source, prefix, token = trace(request).before(step)
    return gradient_times_input(translator(request.checkpoint).model, source, prefix, token, against)


@cached(max_entries=256, show_spinner=False)
def occlusion(request: TranslationRequest, step: int, places: range, against: int | None = None) -> Occlusion:
    """Return the loss of log P of the token after a step without each of these tokens, source first, then prefix.

    With `against`, log P less that of the token of this id.
    """
    source, prefix, token = trace(request).before(step)
    return occlude(translator(request.checkpoint).model, source, prefix, token, places, against)


@cached(max_entries=64, show_spinner=False)
def lost_without(request: TranslationRequest) -> np.ndarray:
    """Return the loss of log P of each output token without each source token: [outputs, source]."""
    sentence, model = trace(request), translator(request.checkpoint).model
    return lost_without_each(model, sentence.source_ids, sentence.decoder_input_ids, sentence.target_ids)


@cached(max_entries=32, show_spinner=False)
def embedding_sum(request: TranslationRequest) -> EmbeddingSum:
    """Return a text's embeddings, their positions and both together: the encoder's input."""
    sentence = trace(request)
    return positions.embedding_sum(translator(request.checkpoint).model, sentence.source_ids, sentence.source_tokens)


@cached(max_entries=32, show_spinner="Translating without positions …")
def translation_without_positions(request: TranslationRequest) -> str:
    """Return the translation of a text when the encoder gets no positions."""
    loaded = translator(request.checkpoint)
    with without_positions(loaded.model):
        return loaded.trace(request.source, request.strategy, prefix=request.prefix).target_text


@cached(max_entries=32, show_spinner="Moving the sentence …")
def moved_sentence(request: TranslationRequest, places: int) -> Moved | None:
    """Return the changes in the encoder when a text is moved by so many positions, or as many as there is room for.

    None without any room.
    """
    model, ids = translator(request.checkpoint).model, trace(request).source_ids
    room = min(places, model.config.max_length - len(ids))
    return move_sentence(model, ids, room) if room > 0 else None


def padded_batch(request: TranslationRequest, second: str) -> BatchView:
    """Return a text, a second one and their translations as one batch with its masks."""
    tokenizer = translator(request.checkpoint).tokenizer
    return view_sentences((trace(request), trace(replace(request, text=second))), tokenizer)


@cached(max_entries=8, show_spinner="Running the batch …")
def masked_pass(request: TranslationRequest, second: str, disabled: str) -> MaskedPass:
    """Return the pass over a text, a second one and their translations in a batch, a mask disabled or "nothing"."""
    model, tokenizer = translator(request.checkpoint).model, translator(request.checkpoint).tokenizer
    return run_masked(model, tokenizer, (trace(request), trace(replace(request, text=second))), disabled)


@cached(max_entries=64, show_spinner=False)
def confidence(checkpoint: CheckpointFiles, part: int, parts: int) -> Confidence:
    """Return the confidence and accuracy of the model on one of so many parts of its sentence pairs, from 0."""
    return measure_confidence(translator(checkpoint).model, samples(checkpoint)[part::parts])
