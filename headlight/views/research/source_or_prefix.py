"""Source or prefix: where the contributions to each output token come from, by ALTI+ and by attention rollout."""

import numpy as np
import streamlit as st

from headlight.app import results
from headlight.app.choices import choose_output_token
from headlight.app.line import part_by_part
from headlight.app.results import TranslationRequest, measures
from headlight.app.widgets import plain, show_attempt, show_figure, show_finding, show_shares, show_translation
from headlight.plots.contributions import source_shares_figure
from headlight.plots.text import Finding, norm_name, percent, quoted, quoted_at
from transformer.interpret.rollout import SourceShares, measured_mixing, roll_out
from transformer.interpret.trace import Trace


def show(request: TranslationRequest) -> None:
    """Show the source's share of every output token, and one token's contributions. Raises UserError."""
    trace = show_translation(request)
    contributions = measures.contributions(request)
    mixing = measured_mixing(results.residual_stream(request))
    rolled = roll_out(trace.encoder, trace.decoder, trace.cross, mixing)
    alti, rollout = (each.source_share()[-1] for each in (contributions, rolled))
    shares = SourceShares(trace.target_tokens, alti, rollout, _usual(request), trace.num_forced)
    left, right = st.columns([7, 13], gap="medium", vertical_alignment="center")
    with left:
        step = choose_output_token(trace, "share_of", shares.least_word)
    right.markdown(
        "How much of each output token comes from the **source**, and how much from the **prefix**, the target tokens "
        "before it? Left bars: ALTI+; right, paler bars: attention rollout. Look for the lowest blue bars."
    )
    alt = "For each output token the shares of source and prefix, by ALTI+ and by rollout"
    finding = describe_shares(shares)
    show_figure(source_shares_figure(shares, step), "source_or_prefix", alt, str(finding))
    _show_token(trace, step, contributions.across[-1][step])
    show_finding(finding)
    norm = norm_name(results.translator(request.checkpoint).model.config)
    st.caption(
        "ALTI+ (Ferrando et al. 2022) asks how near the vector of each token comes to what an attention block gives "
        f"out, through residual connection and {norm}, and multiplies the layers as rollout does; feed-forwards are "
        "left out. Rollout (Abnar and Zuidema 2020) sees attention weights alone, here with residual connections "
        "weighted by norms. A low source share is a known sign of hallucination, of text that the source "
        "does not bear (Voita et al. 2021); it is no proof: the end of a sentence and parts of words need little of "
        "the source in any translation."
    )
    show_attempt(
        "Try “The gostak distims the doshes.” (Ogden and Richards 1923), made of words that do not exist: where does "
        "the model go on from what it wrote itself? Then a name or a number, which can only be copied."
    )


def _usual(request: TranslationRequest) -> float | None:
    """Return the source's mean share over sentence pairs of the checkpoint, None where it has none."""
    if not results.has_samples(request.checkpoint):
        return None
    done = part_by_part(
        range(measures.USUAL_PARTS),
        lambda part: measures.source_shares(request.checkpoint, part),
        "Measuring what is usual …",
    )
    tokens: np.ndarray = np.concatenate(done)
    return float(tokens.mean()) if len(tokens) else None


def _show_token(trace: Trace, step: int, row: np.ndarray) -> None:
    """Show the contributions to one output token, [source + target], as two rows of tokens."""
    name, count = quoted(trace.target_tokens[step]), len(trace.source_tokens)
    sides = (
        ("source", trace.source_tokens, row[:count].tolist()),
        ("prefix", trace.decoder_input_tokens[: step + 1], row[count : count + step + 1].tolist()),
    )
    for column, (side, tokens, shares) in zip(st.columns(2, gap="medium"), sides, strict=True):
        with column:
            st.markdown(plain(f"What {name} has from the {side}, by ALTI+"))
            show_shares(tokens, shares, float(row.max()), f"Contributions of the {side} to {name}", side)


def describe_shares(shares: SourceShares) -> Finding:
    """Say the source's mean share by both methods and over sentence pairs, and which tokens have least and most."""
    usual = (
        "" if shares.usual is None else f", which over sentence pairs of this checkpoint gives {percent(shares.usual)}"
    )
    least, most = (
        f"{quoted_at(shares.tokens, at, 'output token')} ({percent(float(shares.alti[at]))})"
        for at in (shares.least, shares.most)
    )
    return Finding(
        f"On average {percent(shares.mean_alti)} of a token comes from the source.",
        f"That is by ALTI+{usual}; rollout gives {percent(shares.mean_rollout)}. By ALTI+ {least} has least of the "
        f"source, {most} most.",
    )
