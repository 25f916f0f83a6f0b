"""Check of a score's parts by intervention: the score of a run in which one head writes nothing."""

from typing import TYPE_CHECKING

from ...arrays import to_array
from ...model.heads import Head
from ..activations import Request, record, scores_of
from ..score_parts import ScoreParts
from ..trace import Trace
from .intervention import Rows, Zero
from .running import apply_interventions

if TYPE_CHECKING:
    from ...translator import Translator


def score_without(translator: "Translator", trace: Trace, parts: ScoreParts, removed: Head) -> float:
    """Run the pass of a trace with a head's output zero at the score's query and keys; return the score of that run.

    `ScoreParts.without` predicts this score. The two differ where a LayerNorm gets a new standard deviation, or where
    layers in between read the changed stream. With a second key in `parts`, both are differences of two scores. Raises
    InterventionError for a head that the model does not have.
    """
    head, model = parts.head, translator.model
    keys = [parts.key] if parts.against is None else [parts.key, parts.against]
    rows = {parts.query} if removed.kind.stack == head.kind.stack else set()
    if removed.kind.stack == head.kind.key_stack:
        rows.update(keys)
    zeros = [Zero.of(removed, rows=Rows(row, row)) for row in sorted(rows)]
    core = f"{head.kind.block_name(head.layer)}.core"
    with apply_interventions(model, zeros):
        seen = record(model, [trace.source_ids], [trace.decoder_input_ids], Request(keep=(core,), logits_to_keep=1))
    scores = to_array(scores_of(seen.call(core))[0, head.head])[parts.query]
    return float(scores[keys[0]] - (scores[keys[1]] if len(keys) > 1 else 0.0))
