"""The visitor's translation, teacher-forced: the probability of each token beside those of the model's."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import streamlit as st

import headlight.plots as plots
from headlight.app import results
from headlight.app.choices import line
from headlight.app.finding import Finding, Templates, TokenAt
from headlight.app.results import TranslationRequest
from headlight.app.widgets import plain, show_attempt, show_figure, show_finding, show_translation
from headlight.components.show import translation_table
from headlight.plots.numbers import LEAST_SHOWN
from headlight.views.attention import explorer
from transformer import Beam
from transformer.interpret.trace import Trace

from .facts import facts_with_reads

_MOST = float(np.log(10_000))  # nats
TEMPLATES = Templates.beside(__file__)


def show(request: TranslationRequest) -> None:
    """Show the field, both translations token under token, and how log P adds up. Raises UserError."""
    model = show_translation(request)
    text = line("own_target", second_best(request))
    yours = results.study(request).with_target(text).trace
    unknown = results.translator(request.checkpoint).tokenizer.unknown_id
    if count := yours.target_ids.count(unknown):
        st.warning(plain(TEMPLATES.text("unknown", parts=count)), icon=":material/help:")
    facts = {"yours": facts_with_reads(yours), "model": facts_with_reads(model)}
    translation_table(facts, "own_table")
    st.caption(TEMPLATES.text("caption"))
    is_beam, first = isinstance(request.strategy, Beam), replace(request, rank=1)
    ids = [one.ids for one in results.study(first).hypotheses()] if is_beam else []
    finding = describe_own(yours, model, ids)
    show_finding(finding)
    alt = TEMPLATES.text("alt")
    with st.expander(alt):
        show_figure(plots.log_probabilities(yours, model, theme="page"), "own_translation", alt, str(finding))
    maps = st.expander(TEMPLATES.text("maps"), key="own_maps", on_change="rerun")
    if maps.open:  # measuring all heads takes as long as the rest of the page
        with maps:
            explorer.show_heads(request, yours)
    show_attempt(TEMPLATES.text("attempt"))


def second_best(request: TranslationRequest) -> str:
    """Return the best translation of a beam of 4 that reads otherwise than the request's own, else this.

    Its beginning where a model that did not find an end wrote more than it can be fed.
    """
    loaded, shown = results.translator(request.checkpoint), results.trace(request).target_text
    searched = results.study(replace(request, strategy=Beam(), prefix=(), rank=1)).hypotheses()
    texts = (loaded.tokenizer.decode(each.ids) for each in searched)
    text = next((text for text in texts if text.strip() and text != shown), shown)
    while text and not loaded.can_be_given(text):
        text = text[: len(text) * 7 // 8]
    return text


def describe_own(yours: Trace, model: Trace, hypotheses: Sequence[tuple[int, ...]] = ()) -> Finding:
    """Compare the log P of two translations, and return the tokens of yours that the model would not write.

    hypotheses: the ids found by a beam search, best first; none of another way of decoding.
    """
    where, gap = describe_where(yours), yours.log_probability - model.log_probability
    if yours.target_ids == model.target_ids:
        return TEMPLATES("same").followed_by(TEMPLATES("it_has", sum=_sum(yours)), where)
    finding = TEMPLATES("yours" if gap > 0 else "own", times=_times(abs(gap)))
    if abs(gap) < LEAST_SHOWN:
        finding = TEMPLATES("equal")
    sums = TEMPLATES("both_have", sum=_sum(yours), model_sum=_sum(model))
    search = _describe_search(yours.target_ids, model.target_ids, hypotheses) if gap >= LEAST_SHOWN else None
    return finding.followed_by(sums, search, where)


def _describe_search(yours: tuple[int, ...], model: tuple[int, ...], hypotheses: Sequence[tuple[int, ...]]) -> Finding:
    """Return the fate of a more probable translation in the model's search."""
    if yours not in hypotheses:
        return TEMPLATES("missed")
    rank = hypotheses.index(yours) + 1
    return TEMPLATES("in_beam_by_penalty" if model in hypotheses[: rank - 1] else "in_beam", rank=rank)


def describe_where(yours: Trace) -> Finding:
    """Count the tokens that greedy decoding would not write, without forced ones, and return the least probable."""
    others = np.flatnonzero(~yours.is_greedy).tolist()
    if not others:
        return TEMPLATES("all_first")
    values = yours.log_probabilities
    least = min(others, key=lambda at: values[at])
    first = yours.runner_up(least)
    return TEMPLATES(
        "others",
        others=len(others),
        tokens=len(yours.scored_steps),
        least=TokenAt(yours.target_tokens, least, "output token"),
        least_log_probability=values[least],
        first=yours.candidate_tokens[least][first],
        first_probability=float(yours.candidate_probabilities[least][first]),
    )


def _sum(trace: Trace) -> Finding:
    return TEMPLATES("sum", log_probability=trace.log_probability, tokens=len(trace.scored_steps))


def _times(gap: float) -> Finding:
    """Return exp of a difference of log P, in legible digits."""
    ratio = float(np.exp(min(gap, _MOST)))
    name = "countless" if gap > _MOST else "many" if ratio >= 99 else "few" if ratio > 1.05 else "hardly_more"
    return TEMPLATES(name, ratio=ratio)
