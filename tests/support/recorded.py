"""Measures of given ids, each in a pass of its own."""

from transformer.interpret.activations import RESIDUAL_STREAM, Request, record
from transformer.interpret.attribution import Attribution, concatenate, occlude, parts_to_occlude
from transformer.interpret.residual import ResidualStream, residual_stream_of
from transformer.interpret.score_parts import KEPT
from transformer.interpret.what_if.logit_attribution import LogitAttribution, attribution_of


def record_residual_stream(model, source, fed) -> ResidualStream:
    """Record the residual stream of one sentence."""
    return residual_stream_of(model, record(model, [source], [fed], Request(keep=RESIDUAL_STREAM)))


def attribute_logit(model, source, fed, token, against=None) -> LogitAttribution:
    """Return the parts of a token's logit after the last id of the decoder's input."""
    seen = record(model, [source], [fed], Request(keep=KEPT, logits_to_keep=1))
    return attribution_of(model, seen, -1, token, against)


def leave_one_out(model, source, fed, predicted, against=None) -> Attribution:
    """Return the fall of log P without each token."""
    parts = parts_to_occlude(len(source), len(fed))
    return concatenate([occlude(model, source, fed, predicted, part, against) for part in parts], len(source))
