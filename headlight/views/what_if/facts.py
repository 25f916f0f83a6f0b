"""Facts for the components of the page: translations, the importance of heads, the changes of a run."""

import numpy as np

from headlight.app.facts import encode_array, trace_facts
from transformer.interpret.trace import Trace
from transformer.interpret.what_if.importance import HeadImportance
from transformer.interpret.what_if.intervention import Intervention
from transformer.model.heads import Heads


def facts_with_reads(trace: Trace) -> dict:
    """Return the facts of a trace, with the average of all cross-attention heads: reads [target, source]."""
    return trace_facts(trace, {"reads": trace.cross.mean(axis=(0, 1), dtype=np.float64)})


def outcome_facts(before: Trace, forced: np.ndarray, after: Trace, change: dict | None) -> dict:
    """Return the payload of `components.translation_table` for a change: the translation before and after.

    forced: the probabilities of the unchanged translation's tokens under the change, [target]; change: see
    headlight/components/translation_table/story.js, None for no change.
    """
    return {
        "before": facts_with_reads(before),
        "forced": {"target_probabilities": encode_array(forced)},
        "after": facts_with_reads(after),
        "change": change,
    }


def importance_facts(importance: HeadImportance) -> list[dict]:
    """Return the loss of each token without each head in nats, and the heads without which a translation turns."""
    turned = importance.turned or {}
    return [
        head_facts(heads)
        | {
            "losses": importance.of(heads.kind)[heads.layer, heads.head].round(6).tolist(),
            "turned": bool(turned[heads.kind][heads.layer, heads.head]),
        }
        for heads, _ in importance.ranked()
    ]


def head_facts(heads: Heads) -> dict:
    """Return heads, counted from 0; None stands for all of them."""
    return {"kind": str(heads.kind), "layer": heads.layer, "head": heads.head}


def rewriting_facts(change: Intervention) -> dict:
    """Return a change of attention weights: its name, its heads, its rows, and the token that it is about."""
    rows = {"first": change.rows.first, "last": change.rows.last}
    return {"action": change.name, "heads": head_facts(change.heads), "key": getattr(change, "key", None), "rows": rows}
