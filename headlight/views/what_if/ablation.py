"""Switch heads off and translate on: the worth of each head, and the translation with some of them ablated."""

from collections.abc import Mapping, Sequence

import numpy as np
import streamlit as st

from headlight.app import results, url_state
from headlight.app.choices import one_of
from headlight.app.finding import Finding
from headlight.app.model_queue import part_by_part, run_when_idle
from headlight.app.results import TranslationRequest, what_if
from headlight.app.widgets import one_line, show_attempt, show_finding, show_translation
from headlight.components.show import head_switches
from headlight.plots.names import KIND_NAMES, kind_head_name
from headlight.plots.numbers import pluralize
from transformer.interpret.trace import Trace
from transformer.interpret.what_if.importance import ABLATIONS, HeadImportance
from transformer.model.head_ref import HeadRef, heads_address, parse_heads
from transformer.model.names import AttentionKind

from .change_content import compared_html, describe_outcome, moved_words, share_words

EXPLAINED = {
    "zero": "the head's output is zero: its slice of the concatenation before W_O (Michel et al. 2019).",
    "mean": "the head's output is its mean over sentence pairs, so that what follows still reads something usual.",
    "uniform": "the head attends to all keys that it may attend to alike.",
}
LITTLE = 0.1  # nats
_NAMED = 3  # heads that a sentence names one by one


_NONE = "none"  # in the address: no head is off


def show(request: TranslationRequest) -> None:
    """Show every head as a switch, coloured by what is lost without it, and both translations. Raises UserError."""
    left, right = st.container(key="ablated").columns([7, 13], gap="medium")
    with right:
        trace = show_translation(request)
    with left:
        possible = [name for name in EXPLAINED if name != "mean" or results.has_samples(request.checkpoint)]
        explanation = " ".join(f"**{name}**: {words}" for name, words in EXPLAINED.items())
        ablation = one_of("Ablate by", possible, "ablated_by", explanation)
        if not importance_is_there(request, ablation):
            return
        importance = what_if.importance(request, ablation)
        start = importance.default_head().address
        off = parse_heads(url_state.read("off", start), importance.shapes)
        payload = switches_payload(importance, trace) | {"ablated_by": ablation}
        head_switches(
            payload, heads_address(off), "switches", lambda text: url_state.write("off", text or _NONE, start)
        )
    with right:
        if off:
            _show_change(request, ablation, off)
        else:
            st.markdown("**All heads are on.** Choose one to switch it off: the model translates anew without it.")
            show_finding(describe_ranking(importance, trace))
    show_attempt(
        "Switch off all heads of one layer, then all of another: which layer can this sentence do without? Heads that "
        "may go one at a time may not all go together, since each makes up for the others (Michel et al. 2019; Voita "
        "et al. 2019). What is lost shows what the model cannot get in another way, not what the head computes."
    )


def importance_is_there(request: TranslationRequest, ablation: str) -> bool:
    """Return whether `what_if.importance` is known; else the page says that it is to come."""
    url_state.keep("off")
    asked = url_state.asked("off").get("off", "")
    return run_when_idle((request, ablation), lambda: _compute(request, ablation, asked), "The worth of each head")


def _compute(request: TranslationRequest, ablation: str, asked: str) -> None:
    """Fill the caches part by part: what each head is worth, then the translation without those asked for."""
    part_by_part(list(AttentionKind), lambda kind: what_if.losses_without(request, ablation, kind), "Ablating …")
    importance = what_if.importance(request, ablation)
    off = parse_heads(asked, importance.shapes) if asked else (importance.default_head(),)
    if off:
        interventions = tuple(map(ABLATIONS[ablation].of, off))
        translations = [what_if.changed_trace, what_if.same_target_trace]
        part_by_part(translations, lambda compute: compute(request, interventions), "Translating …")


def _show_change(request: TranslationRequest, ablation: str, off: Sequence[HeadRef]) -> None:
    interventions = tuple(map(ABLATIONS[ablation].of, off))
    before, after = results.trace(request), what_if.changed_trace(request, interventions)
    forced = what_if.same_target_trace(request, interventions)
    names = "; ".join(map(kind_head_name, off))
    without, more = (names, None) if len(off) == 1 else (pluralize(len(off), "head"), names)
    st.markdown(f"Without {without}: **{one_line(after.target_text)}**", help=more)
    st.html(compared_html(before, forced, after))
    show_finding(describe_change(before, forced, after, off))


def switches_payload(importance: HeadImportance, trace: Trace) -> dict:
    """Return what `components.head_switches` shows, ready for JSON.

    Of each kind its name and, layer by layer, of each head: the loss of log P in nats, whether the translation
    turns without it, and words. limit: the largest loss or gain, for the colours.
    """
    totals = {kind: importance.total(kind) for kind in AttentionKind}

    def kind_payload(kind: AttentionKind) -> dict:
        losses = totals[kind]
        layers, heads = map(range, losses.shape)
        return {
            "kind": str(kind),
            "name": KIND_NAMES[kind],
            "losses": losses.round(4).tolist(),
            "turned": (_turned(importance)[kind] & trace.is_greedy.all()).tolist(),
            "words": [
                [head_words(importance, trace, HeadRef(kind, layer, head)) for head in heads] for layer in layers
            ],
        }

    limit = float(max(np.abs(losses).max() for losses in totals.values()))
    return {"kinds": list(map(kind_payload, AttentionKind)), "limit": limit}


def head_words(importance: HeadImportance, trace: Trace, heads: HeadRef) -> str:
    """Say of one head how log P moves without it, and whether greedy decoding then finds another translation."""
    turned = _turned(importance)[heads.kind][heads.layer, heads.head] and trace.is_greedy.all()
    losses = importance.of(heads.kind)[heads.layer, heads.head]
    moved = f"{moved_words(losses)}{share_words(losses, trace)}"
    end = " Greedy decoding then finds another translation." if turned else ""
    return f"Without {kind_head_name(heads)} log P of the translation {moved}.{end}"


def describe_ranking(importance: HeadImportance, trace: Trace) -> Finding:
    """Say how many heads change the translation alone, without which one log P is lowest, and how many move little."""
    ranked = importance.ranked()
    worst = ranked[0][0]
    losses = importance.of(worst.kind)[worst.layer, worst.head]
    changing = sum(int(turned.sum()) for turned in _turned(importance).values())
    headline = f"This translation changes without {changing} of {len(ranked)} heads, one at a time."
    if not trace.is_greedy.all():
        headline = f"Without the head that matters most, log P {moved_words(losses)}."
    little = sum(abs(loss) < LITTLE for _, loss in ranked)
    return Finding(
        headline,
        f"log P is lowest without {kind_head_name(worst)}, where it {moved_words(losses)}{share_words(losses, trace)}. "
        f"Without {little} of the {len(ranked)} it moves by less than {LITTLE} nats.",
    )


def describe_change(before: Trace, forced: Trace, after: Trace, off: Sequence[HeadRef]) -> Finding:
    """Say what became of the translation, and of log P of the unchanged one, without these heads."""
    return describe_outcome(f"Without {heads_words(off)}", before, forced, after)


def heads_words(heads: Sequence[HeadRef]) -> str:
    """Name the first of some heads, and say how many more; "any change" for none."""
    more = f" and {len(heads) - _NAMED} more" if len(heads) > _NAMED else ""
    return "; ".join(map(kind_head_name, heads[:_NAMED])) + more or "any change"


def _turned(importance: HeadImportance) -> Mapping[str, np.ndarray]:
    """Return the heads of each kind without which greedy decoding leaves the translation of this one sentence."""
    return importance.turned or {}
