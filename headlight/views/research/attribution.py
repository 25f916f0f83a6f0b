"""Attribution: five measures of the source tokens for one target token, side by side."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

import headlight.plots as plots
from headlight.app import results
from headlight.app.choices import choose_output_token
from headlight.app.finding import Finding, Templates, TokenAt
from headlight.app.model_queue import part_by_part
from headlight.app.results import TranslationRequest
from headlight.app.widgets import plain, show_result, show_table, show_translation
from headlight.plots.contributions import GRADIENT, LEFT_OUT, MEASURES, NORMED, RAW, ROLLOUT
from headlight.plots.limits import left_out_words
from headlight.plots.numbers import LEAST_SHOWN, signed
from transformer.interpret.attribution import (
    Attribution,
    norm_weighted,
    rank_correlation,
)
from transformer.interpret.rollout import roll_out
from transformer.interpret.trace import Trace

FEWEST = 3  # tokens whose ranks can be compared
TEMPLATES = Templates.beside(__file__)


def show(request: TranslationRequest) -> None:
    """Show five measures of a step, and their rank correlations. Raises UserError."""
    trace = show_translation(request)
    step = choose_output_token(trace, most_doubtful_step(trace))
    if too_many := left_out_words(len(trace.source_ids), len(trace.target_ids), step):
        st.warning(too_many, icon=":material/content_cut:")
        return
    left_out, study = occlude_step(request, step), results.study(request)
    blocks = [(study.stages("cross", each), study.parameters("cross", each)) for each in range(len(trace.cross))]
    values = {
        RAW: trace.cross[:, :, step].mean(axis=(0, 1), dtype=np.float64),
        ROLLOUT: roll_out(trace.encoder, trace.decoder, trace.cross).across[-1][step, : len(trace.source_ids)],
        NORMED: norm_weighted(blocks, step),
        GRADIENT: study.gradient(step).source,
        LEFT_OUT: left_out.source,
    }
    target, tokens = trace.target_tokens[step], trace.source_tokens
    prefix = describe_prefix(left_out, trace.decoder_input_tokens[: step + 1])
    finding = describe_largest(values, tokens).followed_by(prefix)
    alt, attempt = TEMPLATES.text("alt", target=target), TEMPLATES.text("attempt")
    show_result(plots.attribution(values, tokens, theme="page"), "beyond", alt, finding, attempt)
    st.caption(plain(TEMPLATES.text("caption", target=target, log_probability=left_out.log_probability)))
    correlated = correlations(values)
    with st.container(key="ranks"):
        st.markdown(TEMPLATES.text("rank_correlation"))
        show_table(TEMPLATES.text("ranks_alt"), "", MEASURES[:-1], correlation_rows(correlated))
        st.caption(plain(str(describe_agreement(correlated))))


def most_doubtful_step(trace: Trace) -> int:
    """Return the step, from 0, whose best other candidate is the most probable; none with a forced token."""
    return max(trace.scored_steps, key=lambda step: trace.candidate_probabilities[step][trace.runner_up(step)])


def correlations(values: dict[str, np.ndarray]) -> np.ndarray:
    """Return Spearman's rank correlation of the sizes of each two of MEASURES: [5, 5]; NaN where too few."""
    sizes = [np.abs(values[name]) for name in MEASURES]
    return np.array([[rank_correlation(one, other) for other in sizes] for one in sizes])


def correlation_rows(correlated: np.ndarray) -> list[tuple[str, list[str]]]:
    """Return the table's rows under one another, each pair once; "–" where there are too few tokens to compare."""
    cells = [["–" if np.isnan(value) else signed(value, 2) for value in line] for line in correlated]
    last = len(MEASURES) - 1
    return [(MEASURES[row], cells[row][:row] + [""] * (last - row)) for row in range(1, last + 1)]


def occlude_step(request: TranslationRequest, step: int, against: int | None = None) -> Attribution:
    """Return the loss of log P, of the token after a step from 0, without each token; `against` as in the measure.

    It takes seconds, so it is computed part by part, each kept once it is there, with a bar where that takes long.
    """
    study, words = results.study(request), TEMPLATES.text("leaving_out")
    part_by_part(study.parts_to_occlude(step), lambda part: study.occlusion(step, part, against), words)
    return study.left_out(step, against)


def describe_largest(values: dict[str, np.ndarray], tokens: Sequence[str]) -> Finding:
    """Return the tokens that are largest by some measure, signs aside, each with its measures."""
    names_at: dict[int, list[str]] = {}
    for name in MEASURES:
        if np.isfinite(values[name]).any():
            names_at.setdefault(int(np.nanargmax(np.abs(values[name]))), []).append(name)
    largest = (TEMPLATES("largest_by", token=TokenAt(tokens, at), names=tuple(names)) for at, names in names_at.items())
    name, count = "same_token" if len(names_at) == 1 else "different_tokens", sum(map(len, names_at.values()))
    finding = TEMPLATES(name, measures=count, places=len(names_at))
    return finding.followed_by(TEMPLATES("largest", tokens=tuple(largest)))


def describe_prefix(left_out: Attribution, fed: Sequence[str]) -> Finding | None:
    """Return the change of log P without the earlier input token that matters most, and without such a source token.

    The begin of sentence does not count: in training no decoder row ever was without it. None without both tokens.
    """
    prefix, source = left_out.prefix, left_out.source
    if not np.isfinite(prefix[1:]).any() or not np.isfinite(source).any():
        return None
    index = 1 + int(np.nanargmax(np.abs(prefix[1:])))
    changes = {"prefix": _change(prefix[index]), "source": _change(source[np.nanargmax(np.abs(source))])}
    return TEMPLATES("prefix", input=TokenAt(fed, index), begin=fed[0], **changes)


def describe_agreement(correlated: np.ndarray) -> Finding:
    """Return the two measures whose ranks agree most, and the two that agree least; [measures, measures]."""
    pairs = [
        (float(correlated[one, other]), (MEASURES[other], MEASURES[one]))
        for one in range(len(MEASURES))
        for other in range(one)
        if not np.isnan(correlated[one, other])
    ]
    if not pairs:
        return TEMPLATES("no_ranks", fewest=FEWEST)
    (lowest, apart), (highest, close) = min(pairs), max(pairs)
    return TEMPLATES("ranks", close=close, highest=highest, apart=apart, lowest=lowest)


def _change(drop: float) -> Finding:
    """Return the change of log P where something is left out."""
    if abs(drop) < LEAST_SHOWN:
        return TEMPLATES("stays")
    return TEMPLATES("falls" if drop > 0 else "rises", by=abs(drop))
