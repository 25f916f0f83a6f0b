"""Payload of the explorer for a long text: every head small, the mean of the chosen ones whole."""

import numpy as np

from headlight.app.facts import pack_facts, to_steps
from headlight.app.finding import Templates
from headlight.app.selection import Selection
from headlight.plots.limits import MOST_BYTES, block_for, pooled, sizes
from transformer.corpus import HeadRoles
from transformer.interpret.trace import Trace

from .explorer_content import KINDS, explorer_facts

_SIDE = 64  # squares of a thumbnail, which a browser draws with no more dots than about that
TEMPLATES = Templates.beside(__file__)


def long_words(trace: Trace) -> str:
    """Return the caption of a text with too many weights to be sent at once; "" for a shorter one."""
    weights = sum(trace.attention(kind).size for kind in KINDS)
    most = MOST_BYTES // to_steps(np.zeros(1)).nbytes
    lengths = sizes(len(trace.source_ids), len(trace.target_ids))
    return "" if weights <= most else TEMPLATES.text("too_many", sizes=lengths, weights=weights, most=most)


class LongExplorer:
    """The blobs of a long text for chosen heads; the part that all blobs share is made once."""

    def __init__(self, trace: Trace, roles: HeadRoles | None = None):
        self._trace = trace
        self._small = {kind: to_steps(_small(trace.attention(kind))) for kind in KINDS}
        self._facts = explorer_facts(trace, self._small, roles)

    def blob(self, selection: Selection) -> bytes:
        """Return the blob, laid out as `explorer_blob` has it, for a selection.

        Each kind has the thumbnails [layers, heads, *small] in place of its weights; then comes the mean of the heads
        that the facts name as `chosen`, "cross.1.1-cross.2.3", [queries, keys].
        """
        maps = self._trace.attention(selection.head.kind)
        chosen = [maps[head.layer, head.head] for head in selection.heads]
        mean = to_steps(np.asarray(np.mean(chosen, axis=0, dtype=np.float64)))
        return pack_facts({**self._facts, "chosen": selection.address["head"]}, {**self._small, "mean": mean})


def _small(maps: np.ndarray) -> np.ndarray:
    return pooled(maps, block_for(maps, _SIDE))
