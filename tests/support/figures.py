"""Every public figure of a shipped checkpoint."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import plotly.graph_objects as go
from support.recorded import attribute_logit, leave_one_out, record_residual_stream

import headlight.plots as plots
from headlight.plots.contributions import MEASURES, Contrast
from headlight.plots.layout import Theme
from transformer import Translator
from transformer.data.batching import make_examples
from transformer.decoding.sampling import truncate
from transformer.evaluation import measure_confidence
from transformer.experiments.attention import measure_random_products
from transformer.interpret import positions, residual
from transformer.interpret.attention_block import record_stages
from transformer.interpret.attribution import gradient_times_input
from transformer.interpret.mask_ablation import DisabledMask, masked_head, run_masked
from transformer.interpret.parameters import nearest
from transformer.interpret.rollout import SourceShares, alti, roll_out, share_map
from transformer.interpret.score_parts import explain_score
from transformer.interpret.trace import Trace
from transformer.interpret.what_if.patching import Site, patching_map, question_of

PAIRS = [("I am tired.", "Ich bin müde."), ("I love my teacher.", "Ich liebe meinen Lehrer."), ("Thanks.", "Danke.")]
# Drawn from a training, from a model of T5's family, or from one stack; their pages' tests draw them.
OF_OTHER_MODELS = {"bias_curves", "bias_map", "one_stack", "one_stack_block", "training_runs"}


@cache
def draw_every_figure(translator: Translator, theme: Theme = "paper") -> dict[str, go.Figure]:
    """Return each figure by name except OF_OTHER_MODELS, drawn for one sentence."""
    trace, other = (translator.trace(text) for text in ("I love my teacher.", "I love my mother."))
    return {name: draw(theme=theme) for name, draw in _drawings(translator, trace, other).items()}


def _drawings(translator: Translator, trace: Trace, other: Trace) -> dict[str, Callable[..., go.Figure]]:
    drawings: dict[str, Callable[..., go.Figure]] = {}
    for part in (_of_decoding, _of_parts, _of_masks, _of_attribution, _of_what_if):
        drawings |= part(translator, trace, other)
    return drawings


def _with(draw: Callable[..., go.Figure], *arguments: object) -> Callable[..., go.Figure]:
    return lambda theme: draw(*arguments, theme=theme)


def _of_decoding(translator: Translator, trace: Trace, other: Trace) -> dict:
    stream = record_residual_stream(translator.model, trace.source_ids, trace.decoder_input_ids)
    cut, name = truncate(stream.logits[1], 1.5), translator.tokenizer.piece_text
    examples = make_examples(PAIRS, translator.tokenizer, translator.model.config.max_length)
    measured = measure_confidence(translator.model, examples)
    return {
        "probabilities": _with(plots.probabilities, cut, name),
        "confidence_histogram": _with(plots.confidence_histogram, measured, 0.9),
        "calibration": _with(plots.calibration, measured),
    }


def _of_parts(translator: Translator, trace: Trace, other: Trace) -> dict:
    model, spread = translator.model, measure_random_products(1)
    ids = trace.source_ids, trace.decoder_input_ids
    units = residual.record_hidden_units(model, *ids, "encoder", 0)
    near = nearest(model.source_embedding.weight.detach().numpy(), trace.source_ids[2])
    encoding = positions.model_encoding(model).first(64)
    return {
        "head": _with(plots.head, trace),
        "without_scaling": _with(
            plots.without_scaling, record_stages(model, *ids, "cross", 0), 1, trace.decoder_input_tokens
        ),
        "score_deviation": _with(plots.score_deviation, spread, 32),
        "largest_weight": _with(plots.largest_weight, spread, 32),
        "hidden_units": _with(plots.hidden_units, units[1]),
        "nearest_tokens": _with(plots.nearest_tokens, near, translator.tokenizer.source_piece_text),
        "positions": _with(plots.positions, positions.position_rows(model, "encoder")[:64]),
        "waves": _with(plots.waves, encoding, 4, 5, 3),
        "rotation": _with(plots.rotation, encoding, 4, 5, 3),
    }


def _of_masks(translator: Translator, trace: Trace, other: Trace) -> dict:
    masked, disabled = (
        run_masked(translator.model, translator.tokenizer, [trace], each)
        for each in (DisabledMask.NOTHING, DisabledMask.CAUSAL)
    )
    head, leaking = (masked_head(run, "decoder", 0, 1, 2) for run in (masked, disabled))
    return {
        "mask": _with(plots.mask, masked.causal_mask, trace.decoder_input_tokens, {"later": ~masked.causal_mask}),
        "masked_weights": _with(plots.masked_weights, head, "both"),
        "without_causal_mask": _with(plots.without_causal_mask, head, leaking, "both"),
        "next_tokens": _with(plots.next_tokens, masked, disabled, 0),
    }


def _of_attribution(translator: Translator, trace: Trace, other: Trace) -> dict:
    model, ids = translator.model, (trace.source_ids, trace.decoder_input_ids)
    gradient, left_out = (measure(model, *trace.before(1)) for measure in (gradient_times_input, leave_one_out))
    rolled, contributed = roll_out(trace.encoder, trace.decoder, trace.cross), alti(model, *ids)
    shares = SourceShares(trace.target_tokens, contributed.source_share()[-1])
    raw = trace.cross[0, 0, 1].astype(float)
    values = dict(zip(MEASURES, (raw, raw, raw, gradient.source, left_out.source), strict=True))
    fed = trace.decoder_input_tokens[:2]
    contrast = Contrast("a", "b", trace.source_tokens, fed, gradient, left_out)
    parts = attribute_logit(model, *trace.before(1))
    return {
        "shares": _with(plots.shares, share_map(rolled, trace)),
        "source_or_prefix": _with(plots.source_or_prefix, shares, 1),
        "attribution": _with(plots.attribution, values, trace.source_tokens),
        "contrast": _with(plots.contrast, contrast),
        "logit_kinds": _with(plots.logit_kinds, parts),
        "logit_parts": _with(plots.logit_parts, parts),
        "score_parts": _with(plots.score_parts, explain_score(translator, trace, "cross", 1, 0, query=1, key=1)),
    }


def _of_what_if(translator: Translator, trace: Trace, other: Trace) -> dict:
    question = question_of(trace, other)
    patched = patching_map(translator.model, question, Site.RESIDUAL, "encoder")
    columns = patched.column_names(question, translator.tokenizer)
    return {
        "patching": _with(plots.patching, patched, columns),
        "log_probabilities": _with(plots.log_probabilities, trace, replace(other)),
        "quiz": _with(plots.quiz, [("<b>idea</b>", "right", "", 0.3, 0.6), ("idea", "wrong", "w", 0.7, 0.4)]),
    }
