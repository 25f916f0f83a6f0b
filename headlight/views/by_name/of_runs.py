"""Figures of a sentence in its model: what is read off passes that are run for them."""

from collections.abc import Sequence

import numpy as np

from headlight.views.architecture import figures as architecture
from headlight.views.architecture.content import sum_words
from headlight.views.architecture.diagram_content import ACTIVATIONS
from headlight.views.attention.beyond_weights_figure import GRADIENT, LEFT_OUT, NORMED, RAW, measures_figure
from headlight.views.attention.rollout_content import ALTI, FORMULAS, HALVES, MEASURED
from headlight.views.attention.rollout_figure import parts_figure, raw_and_rolled, shares_figure
from headlight.views.inside.scaling_figure import rows_figure
from headlight.views.logits import figures as logits
from headlight.views.masks import figures as masks
from headlight.views.positions import figures as positions
from headlight.views.questions.figures import fully_masked_row_figure
from headlight.views.training.label_smoothing_figure import confidence_figure
from headlight.views.what_if import patching_text
from headlight.views.what_if.patching_figure import patching_figure
from headlight.views.what_if.rewriting_figure import candidates_figure
from headlight.views.why.contrast_figure import Contrast, contrast_figure
from headlight.views.why.contrast_text import other_candidates
from headlight.views.why.early_layers_figure import kinds_figure, layers_figure
from headlight.views.why.source_or_prefix_figure import SourceShares
from headlight.views.why.source_or_prefix_figure import shares_figure as source_or_prefix_figure
from transformer.arrays import to_array
from transformer.decoding.truncation import truncate
from transformer.experiments.fully_masked_rows import fully_masked_row
from transformer.interpret.activations import Request, record
from transformer.interpret.attention_block import block_parameters, record_stages, undivided
from transformer.interpret.attribution import gradient_times_input, leave_one_out, norm_weighted
from transformer.interpret.mask_ablation import MaskedHead, masked_head, run_masked
from transformer.interpret.parameters import nearest
from transformer.interpret.positions import embedding_sum
from transformer.interpret.residual import (
    ResidualStream,
    logit_lens,
    record_hidden_units,
    record_residual_stream,
    trajectory,
)
from transformer.interpret.rollout import Rollout, half_and_half, measured_mixing, roll_out
from transformer.interpret.trace import Trace
from transformer.interpret.what_if.alti import alti
from transformer.interpret.what_if.logit_attribution import attribute_logit
from transformer.interpret.what_if.patching import patching_map, question_of
from transformer.interpret.what_if.running import intervened, read_all
from transformer.model.names import Stack
from transformer.translator import Translator


def _stream(translator: Translator, trace: Trace) -> ResidualStream:
    return record_residual_stream(translator.model, trace.source_ids, trace.fed_ids)


def _rolled(translator: Translator, trace: Trace, residual: str) -> Rollout:
    """By ALTI+, or with the residual weighting that the page calls so."""
    if residual not in FORMULAS:
        raise ValueError(f"residual must be one of {', '.join(FORMULAS)}, got {residual!r}")
    if residual == ALTI:
        return alti(translator.model, trace.source_ids, trace.fed_ids)
    maps = trace.encoder, trace.decoder, trace.cross
    mixing = half_and_half(*maps) if residual == HALVES else measured_mixing(_stream(translator, trace))
    return roll_out(*maps, mixing)


def _rollout(translator: Translator, trace: Trace, kind="cross", layer=-1, residual=HALVES, rows="predicted"):
    layer = range(len(trace.attention(kind)))[layer]
    _, rolled = raw_and_rolled(trace, _rolled(translator, trace, residual), kind, layer, rows)
    return shares_figure(rolled, "share")


def _rollout_parts(translator: Translator, trace: Trace, layer=-1, residual=HALVES):
    return parts_figure(trace, _rolled(translator, trace, residual), range(len(trace.cross))[layer])


def _attribution(translator: Translator, trace: Trace, step=0, layer=None):
    """Raw weights, norm-weighted attention, gradient x input and leave-one-out for the token after a step."""
    layers = range(len(trace.cross)) if layer is None else [layer]
    model, asked = translator.model, (translator.model, *trace.before(step))
    blocks = [
        (record_stages(model, trace.source_ids, trace.fed_ids, "cross", each), block_parameters(model, "cross", each))
        for each in layers
    ]
    values = {
        RAW: trace.cross[list(layers), :, step].mean(axis=(0, 1), dtype=np.float64),
        NORMED: norm_weighted(blocks, step),
        GRADIENT: gradient_times_input(*asked).source,
        LEFT_OUT: leave_one_out(*asked).source,
    }
    return measures_figure(values, trace.source_tokens)


def _contrast(translator: Translator, trace: Trace, step=0, other=None):
    """Why a step's token and not another, given by its text; the most probable other candidate without."""
    others = other_candidates(trace, step)
    other = next(iter(others)) if other is None else other
    if other not in others:
        raise ValueError(f"{other!r} is no other candidate of step {step}; there are {', '.join(others)}")
    asked, fed = (translator.model, *trace.before(step), others[other][0]), trace.fed_tokens[: step + 1]
    gradient, left_out = (measure(*asked) for measure in (gradient_times_input, leave_one_out))
    return contrast_figure(Contrast(trace.next_tokens[step], other, trace.source_tokens, fed, gradient, left_out))


def _logit_parts(translator: Translator, trace: Trace, step=0):
    return layers_figure(attribute_logit(translator.model, *trace.before(step)))


def _logit_kinds(translator: Translator, trace: Trace, step=0):
    return kinds_figure(attribute_logit(translator.model, *trace.before(step)))


def _source_or_prefix(translator: Translator, trace: Trace, step=0):
    found = [_rolled(translator, trace, residual).source_share()[-1] for residual in (ALTI, MEASURED)]
    return source_or_prefix_figure(SourceShares(trace.next_tokens, *found, num_forced=trace.num_forced), step)


def _logits(translator: Translator, trace: Trace, step=0):
    shown = truncate(_stream(translator, trace).logits[step])
    return logits.logits_figure(shown, translator.tokenizer.piece_text)


def _probabilities(translator: Translator, trace: Trace, step=0, temperature=1.0, top_k=0, top_p=1.0):
    never = translator.model.config.never_chosen
    shown = truncate(_stream(translator, trace).logits[step], temperature, top_k, top_p, never)
    return logits.truncation_figure(shown, translator.tokenizer.piece_text)


def _logit_lens(translator: Translator, trace: Trace, step=0):
    lens = logit_lens(translator.model, _stream(translator, trace), trace.next_ids)
    return logits.ranks_figure(lens, trace.next_tokens, step)


def _trajectory(translator: Translator, trace: Trace, stack="decoder", token=0):
    return architecture.trajectory_figure(trajectory(getattr(_stream(translator, trace), Stack(stack)), token))


def _embedding(translator: Translator, trace: Trace, stack="encoder", token=0):
    """A token's row of the embedding matrix, scaled, its position's vector, and their sum."""
    side, (matrix, ids) = getattr(_stream(translator, trace), Stack(stack)), _embedded(translator, trace, stack)
    embedded, summed = side.embedded[token], side.summed[token]
    words = sum_words(translator.model.config)
    return architecture.sum_figure(matrix[ids[token]], embedded, summed - embedded, summed, *words)


def _embedded(translator: Translator, trace: Trace, stack: str) -> tuple[np.ndarray, Sequence[int]]:
    """The embedding matrix of a side, and the ids of its tokens."""
    is_source = Stack(stack) == Stack.ENCODER
    embedding = translator.model.source_embedding if is_source else translator.model.target_embedding
    return embedding.weight.detach().cpu().numpy(), trace.source_ids if is_source else trace.fed_ids


def _nearest_tokens(translator: Translator, trace: Trace, stack="encoder", token=0):
    tokenizer, is_source = translator.tokenizer, stack == "encoder"
    matrix, ids = _embedded(translator, trace, stack)
    found = nearest(matrix, ids[token])
    return architecture.neighbours_figure(found, tokenizer.source_piece_text if is_source else tokenizer.piece_text)


def _hidden_units(translator: Translator, trace: Trace, stack="encoder", layer=0, token=None):
    """Of one feed-forward: a token's strongest units, or, without a token, those that fire most in the sentence."""
    units = record_hidden_units(translator.model, trace.source_ids, trace.fed_ids, stack, layer)
    if token is None:
        return architecture.sentence_figure(units, trace.source_tokens if stack == "encoder" else trace.fed_tokens)
    return architecture.units_figure(units[token], ACTIVATIONS[translator.model.config.activation][0])


def _undivided(translator: Translator, trace: Trace, kind="cross", layer=0, head=0):
    """The largest weight of each query of a head with the division by the root of d_k, and without."""
    stages = record_stages(translator.model, trace.source_ids, trace.fed_ids, kind, layer)
    queries = trace.source_tokens if kind == "encoder" else trace.fed_tokens
    return rows_figure(*(weights.max(axis=-1) for weights in undivided(stages, head)), queries)


def _embedding_sum(translator: Translator, trace: Trace, dimensions=32):
    return positions.embedding_sum_figure(
        embedding_sum(translator.model, trace.source_ids, trace.source_tokens), dimensions
    )


def _norms(translator: Translator, trace: Trace):
    return positions.norms_figure(embedding_sum(translator.model, trace.source_ids, trace.source_tokens))


def _masked(translator: Translator, sentences: Sequence[Trace], disabled: str, *place) -> MaskedHead:
    return masked_head(run_masked(translator.model, translator.tokenizer, sentences, disabled), *place)


def _scores(translator: Translator, trace: Trace, kind="decoder", layer=0, head=0, rows="predicted"):
    return masks.scores_figure(_masked(translator, [trace], "nothing", kind, 0, layer, head), rows)


def _masked_scores(translator: Translator, trace: Trace, kind="decoder", layer=0, head=0, rows="predicted"):
    return masks.masked_scores_figure(_masked(translator, [trace], "nothing", kind, 0, layer, head), rows)


def _weights(translator: Translator, trace: Trace, kind="decoder", layer=0, head=0, rows="predicted"):
    return masks.weights_figure(_masked(translator, [trace], "nothing", kind, 0, layer, head), rows)


def _fully_masked_row(translator: Translator, trace: Trace):
    """The weights of a query of the encoder's first head if all its keys were masked, by two ways to mask."""
    stages = record_stages(translator.model, trace.source_ids, trace.fed_ids, "encoder", 0)
    return fully_masked_row_figure(fully_masked_row(stages.scores[0, 0, 0].tolist()), trace.source_tokens)


def _without_the_causal_mask(translator: Translator, trace: Trace, layer=0, head=0, rows="predicted"):
    runs = (_masked(translator, [trace], disabled, "decoder", 0, layer, head) for disabled in ("nothing", "causal"))
    return masks.leaking_figure(*runs, rows)


def _next_tokens_without_the_causal_mask(translator: Translator, trace: Trace):
    runs = (run_masked(translator.model, translator.tokenizer, [trace], each) for each in ("nothing", "causal"))
    return masks.next_tokens_figure(*runs, 0)


def _confidence(translator: Translator, trace: Trace, best=1.0):
    """The probability of each next token; `best` is the one at which the loss of the training was least."""
    return confidence_figure(trace, best)


def _candidates(translator: Translator, trace: Trace, interventions=(), step=0):
    """The most probable next tokens of a step, unchanged and under interventions, the same prefix fed."""
    found = []
    for asked in ((), interventions):
        with intervened(translator.model, read_all(asked)):
            request = Request(keep=(), logits_to_keep=1)
            seen = record(translator.model, [trace.source_ids], [trace.fed_ids[: step + 1]], request)
        found.append(to_array(seen.logits[0, -1].softmax(dim=-1)))
    return candidates_figure(*found, translator.tokenizer.piece_text)


def _patching(translator: Translator, trace: Trace, corrupted: Trace, patched="encoder stream"):
    """What each cell of the clean run restores in the corrupted one; `patched` is a name of the page on patching."""
    if patched not in patching_text.PATCHED:
        raise ValueError(f"patched is one of {', '.join(patching_text.PATCHED)}, got {patched!r}")
    question, site = question_of(trace, corrupted), patching_text.PATCHED[patched]
    found = patching_map(translator.model, question, site.site, site.part)
    rows, columns = patching_text.row_names(found), patching_text.column_names(found, question, translator.tokenizer)
    return patching_figure(found.shares, rows, columns, site.columns, patching_text.telling_cell(found.shares))


OF_RUNS = {
    "rollout": _rollout,
    "rollout parts": _rollout_parts,
    "attribution": _attribution,
    "contrast": _contrast,
    "logit parts": _logit_parts,
    "logit kinds": _logit_kinds,
    "source or prefix": _source_or_prefix,
    "logits": _logits,
    "probabilities": _probabilities,
    "logit lens": _logit_lens,
    "confidence": _confidence,
    "trajectory": _trajectory,
    "embedding": _embedding,
    "nearest tokens": _nearest_tokens,
    "hidden units": _hidden_units,
    "undivided": _undivided,
    "embedding sum": _embedding_sum,
    "norms": _norms,
    "scores": _scores,
    "masked scores": _masked_scores,
    "weights after the mask": _weights,
    "fully masked row": _fully_masked_row,
    "without the causal mask": _without_the_causal_mask,
    "next tokens without the causal mask": _next_tokens_without_the_causal_mask,
    "candidates": _candidates,
    "patching": _patching,
}
