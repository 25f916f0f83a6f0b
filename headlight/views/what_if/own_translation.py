"""A translation of the reader's own, teacher-forced: what the model gives each of its tokens, and where it differs."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import streamlit as st

import headlight.plots as plots
from headlight.app import results
from headlight.app.choices import write_line
from headlight.app.finding import Finding
from headlight.app.results import TranslationRequest, what_if
from headlight.app.widgets import plain, show_attempt, show_figure, show_finding, show_translation
from headlight.components.show import translation_table
from headlight.plots.numbers import LEAST_SHOWN, format_probability, pluralize, scientific, signed
from headlight.plots.tokens import quoted, quoted_at
from headlight.views.attention import explorer
from transformer import Beam
from transformer.interpret.trace import Trace

from .facts import facts_with_reads

_MOST = 690.0  # nats: of more, no float64 is the exponential


def show(request: TranslationRequest) -> None:
    """Show the field, both translations token under token, and how log P adds up. Raises UserError."""
    model = show_translation(request)
    text = write_line("Your translation", "own_target", what_if.second_best(request), repr(request))
    yours = what_if.given_trace(request, text)
    unknown = results.translator(request.checkpoint).tokenizer.unknown_id
    if count := yours.target_ids.count(unknown):
        words = f"The model has no token for {pluralize(count, 'part')} of your translation: read as <unk>."
        st.warning(plain(words), icon=":material/help:")
    facts = {"yours": facts_with_reads(yours), "model": facts_with_reads(model)}
    translation_table(facts, "own_table")
    st.caption(
        "The model reads your translation token by token. Brown: it did not expect this token. A frame: it would have "
        "written another one, which stands below."
    )
    ids = (
        [one.ids for one in results.hypotheses(replace(request, rank=1))] if isinstance(request.strategy, Beam) else []
    )
    finding = describe_own(yours, model, ids)
    show_finding(finding)
    alt = "Log P of both translations, added up token by token"
    show_figure(plots.log_probabilities(yours, model, theme="page"), "own_translation", alt, str(finding))
    maps = st.expander("All attention maps of your translation", key="own_maps", on_change="rerun")
    if maps.open:  # measuring all heads takes as long as the rest of the page
        with maps:
            explorer.show_heads(request, yours)
    show_attempt(
        "Another word order, a synonym, a mistake of grammar: which costs most? Unlikely for the model does not mean "
        "wrong."
    )


def _others(trace: Trace) -> list[int]:
    """Return the tokens that greedy decoding would not go on with, without forced ones."""
    return np.flatnonzero(~trace.is_greedy).tolist()


def _preferred(trace: Trace, at: int) -> tuple[str, str]:
    """Return what greedy decoding would go on with in place of a token, and its probability."""
    best = trace.runner_up(at)
    return trace.candidate_tokens[at][best], format_probability(float(trace.candidate_probabilities[at][best]))


def describe_own(yours: Trace, model: Trace, hypotheses: Sequence[tuple[int, ...]] = ()) -> Finding:
    """Say which of both the model finds more probable and how many times, both log P, and where yours is another.

    hypotheses: the ids of what a beam search found, best first; none of another way of decoding.
    """
    sums, where = _sums(yours), describe_where(yours)
    if yours.target_ids == model.target_ids:
        return Finding("This is the model's own translation, token for token.", f"It has {sums}. {where}")
    gap = yours.log_probability - model.log_probability
    headline = f"The model finds {'your' if gap > 0 else 'its own'} translation {_times(abs(gap))} times as probable."
    if abs(gap) < LEAST_SHOWN:
        headline = "To the model both translations are equally probable."
    found = ""
    if gap >= LEAST_SHOWN:
        found = " Its decoding missed yours."
        if yours.target_ids in hypotheses:
            rank = hypotheses.index(yours.target_ids) + 1
            why = ": it ranks by log P over a length penalty" if model.target_ids in hypotheses[: rank - 1] else ""
            found = f" Its beam found yours too, in place {rank}{why}."
    return Finding(headline, f"Yours has {sums}, the model's {_sums(model)}.{found} {where}")


def describe_where(yours: Trace) -> str:
    """Say at how many tokens the model's first candidate is another, and which of these is the least probable."""
    others = _others(yours)
    if not others:
        return "Each token is the model's first candidate."
    values = yours.log_probabilities
    least = min(others, key=lambda at: values[at])
    named = quoted_at(yours.target_tokens, least, "output token")
    first, chance = _preferred(yours, least)
    return (
        f"At {len(others)} of {pluralize(len(yours.scored_steps), 'token')} the model's first candidate is another; "
        f"least probable of these is {named} (log P {signed(values[least], 2)}), where it would write {quoted(first)} "
        f"({chance})."
    )


def _sums(trace: Trace) -> str:
    return f"log P {signed(trace.log_probability, 2)} over {pluralize(len(trace.scored_steps), 'token')}"


def _times(gap: float) -> str:
    """Return exp of a difference of log P, in digits that can be read."""
    if gap > _MOST:
        return "more than 10²⁹⁹"
    times = float(np.exp(gap))
    return f"{times:.{1 if times > 1.05 else 2}f}" if times < 10 else scientific(times, 2)
