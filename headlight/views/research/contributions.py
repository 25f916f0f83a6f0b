"""Contributions to an output token: shares of source and prefix by ALTI+, and the parts of its logit."""

from functools import partial

import numpy as np
import streamlit as st

import headlight.plots as plots
from headlight.app import results
from headlight.app.choices import choose_output_token
from headlight.app.finding import Finding, Templates, TokenAt
from headlight.app.model_queue import part_by_part
from headlight.app.results import CheckpointFiles, TranslationRequest
from headlight.app.widgets import (
    phone_container,
    plain,
    show_figure,
    show_finding,
    show_result,
    show_shares,
    show_translation,
)
from headlight.plots.names import kind_words, norm_name, sentence_case
from headlight.plots.numbers import LEAST_SHOWN
from transformer.config import ModelConfig, NormType
from transformer.interpret.rollout import SourceShares, alti
from transformer.interpret.trace import Trace
from transformer.interpret.what_if.logit_attribution import LogitAttribution

USUAL_PARTS, PAIRS_PER_PART = 3, 10  # of a checkpoint's sentence pairs, for the usual share of the source
TEMPLATES = Templates.beside(__file__)


def show(request: TranslationRequest) -> None:
    """Show the source's share of every output token, then one token's contributions. Raises UserError."""
    trace, config = show_translation(request), results.translator(request.checkpoint).model.config
    contributions = results.study(request).contributions()
    alti = contributions.source_share()[-1]
    shares = SourceShares(trace.target_tokens, alti, _usual(request), trace.num_forced)
    step = choose_output_token(trace, shares.least_word)
    alt, attempt, finding = TEMPLATES.text("alt_shares"), TEMPLATES.text("attempt"), describe_shares(shares)
    show_result(plots.source_or_prefix(shares, step, theme="page"), "source_or_prefix", alt, finding, attempt)
    _show_token(trace, step, contributions.across[-1][step])
    _show_parts(request, trace, step)
    st.caption(TEMPLATES.text("caption", norm=norm_name(config), direct=plain(_direct_attribution(config))))


def _usual(request: TranslationRequest) -> float | None:
    """Return the source's mean share over sentence pairs of the checkpoint, None where it has none."""
    if not results.has_samples(request.checkpoint):
        return None
    compute = partial(source_shares, request.checkpoint)
    tokens: np.ndarray = np.concatenate(part_by_part(range(USUAL_PARTS), compute, TEMPLATES.text("measuring")))
    return float(tokens.mean()) if len(tokens) else None


@results.cached(max_entries=16, show_spinner=TEMPLATES.notice("measuring"))
def source_shares(checkpoint: CheckpointFiles, part: int) -> np.ndarray:
    """Return the source's share by ALTI+ in each output token, but forced ones, of one of USUAL_PARTS parts of the
    first sentence pairs, the references fed: [tokens].
    """
    model, pairs = results.translator(checkpoint).model, results.samples(checkpoint)[: USUAL_PARTS * PAIRS_PER_PART]
    rollouts = (alti(model, pair.source, pair.target[:-1]) for pair in pairs[part::USUAL_PARTS])
    return np.concatenate([np.empty(0), *(each.source_share()[-1][model.config.num_forced :] for each in rollouts)])


def _show_token(trace: Trace, step: int, row: np.ndarray) -> None:
    """Show the contributions to one output token, [source + target], as two rows of tokens."""
    token, count = trace.target_tokens[step], len(trace.source_tokens)
    sides = (
        ("source", trace.source_tokens, row[:count].tolist()),
        ("prefix", trace.decoder_input_tokens[: step + 1], row[count : count + step + 1].tolist()),
    )
    for column, (side, tokens, shares) in zip(st.columns(2, gap="medium"), sides, strict=True):
        with column:
            st.markdown(plain(TEMPLATES.text(f"owes_{side}", token=token)))
            show_shares(tokens, shares, float(row.max()), TEMPLATES.text(f"alt_{side}", token=token), side)


def describe_shares(shares: SourceShares) -> Finding:
    """Return the source's mean share here and over sentence pairs, and the tokens with least and most."""
    least, most = (TokenAt(shares.tokens, at, "output token") for at in (shares.least, shares.most))
    numbers = {
        "usual": "" if shares.usual is None else TEMPLATES("usual", usual_share=shares.usual),
        "least_share": float(shares.alti[shares.least]),
        "most_share": float(shares.alti[shares.most]),
    }
    details = TEMPLATES("alti", least=least, most=most, **numbers)
    return TEMPLATES("shares", mean=shares.mean_alti).followed_by(details)


def _show_parts(request: TranslationRequest, trace: Trace, step: int) -> None:
    """Show the logit of a step's token as the sum of the direct additions of all parts of the decoder."""
    parts, token = results.study(request).logit_parts(step), trace.target_tokens[step]
    finding = describe_parts(parts, token)
    st.markdown(plain(TEMPLATES.text("parts", token=token)))
    left, right = st.columns([2, 5], gap="small")
    with left:
        alt = TEMPLATES.text("alt_kinds", token=token)
        show_figure(plots.logit_kinds(parts, theme="page"), "logit_kinds", alt, str(finding))
    with right, phone_container(2 * parts.cross.shape[1], "logit_map"):
        alt = TEMPLATES.text("alt_parts", token=token)
        show_figure(plots.logit_parts(parts, theme="page"), "logit_layers", alt, str(finding))
    show_finding(finding)


def _direct_attribution(config: ModelConfig) -> str:
    """Explain the parts of a logit, and the value at which the norms of a model are held."""
    is_rms, norm = config.norm_type == NormType.RMS, norm_name(config)
    biases = TEMPLATES("no_biases") if is_rms and not config.bias else TEMPLATES("all_biases", norm=norm)
    return TEMPLATES.text("direct", norm=norm, held=TEMPLATES(f"held_{config.norm_type}"), biases=biases)


_PLURAL = ("feed-forward", "biases")  # kinds of parts


def describe_parts(parts: LogitAttribution, token: str) -> Finding:
    """Return the kinds of parts that add and take most, the sum of all parts, and the highest head and feed-forward."""
    kinds, (head, by_head) = parts.by_kind(), parts.largest_head()
    layer = int(parts.feed_forward.argmax())
    (against, lowest), (kind, highest) = (choose(kinds.items(), key=lambda each: each[1]) for choose in (min, max))
    one, several = ("contributes", "contribute") if highest > 0 else ("takes_least", "take_least")
    taken, name = "take_most" if against in _PLURAL else "takes_most", several if kind in _PLURAL else one
    takes_most = TEMPLATES(taken, taker=TEMPLATES.text(f"subject_{against}"), taken=abs(lowest))
    highest_parts = {"head": head, "by_head": by_head, "layer": layer + 1, "by_layer": float(parts.feed_forward[layer])}
    return TEMPLATES(name, subject=TEMPLATES.text(f"subject_{kind}")).followed_by(
        TEMPLATES("kind", kind=sentence_case(kind_words(kind)), highest=highest),
        takes_most if lowest <= -LEAST_SHOWN else None,
        TEMPLATES("sum", total=parts.total, token=token, logit=parts.logit),
        TEMPLATES("highest", **highest_parts),
    )
