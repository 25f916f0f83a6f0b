"""A translated sentence and maps of it whose numbers are chosen by a test, for sentences that are spelled out there."""

from collections.abc import Sequence

import numpy as np

from transformer.interpret.trace import AttentionMap, RowLabel, Trace
from transformer.model.names import AttentionKind

SOURCE = ("▁no", "▁cat", "▁no", ".", "</s>")
FED = ("<s>", "▁keine", "▁Katze")
NEXT = ("▁keine", "▁Katze", "</s>")


def made_trace(**changes) -> Trace:
    """SOURCE with its translation, 1 layer and 2 heads of equal weights; `changes` are fields of a `Trace`."""
    source, target = len(SOURCE), len(FED)
    prefix = np.tri(target) / np.arange(1, target + 1)[:, None]
    fields = {
        "source_text": "no cat no.",
        "target_text": "keine Katze",
        "origin": "decoded",
        "finished": True,
        "source_pieces": (),
        "source_tokens": SOURCE,
        "source_ids": (10, 11, 10, 12, 3),
        "decoder_input_tokens": FED,
        "decoder_input_ids": (2, 20, 21),
        "target_tokens": NEXT,
        "target_ids": (20, 21, 3),
        "encoder": np.full((1, 2, source, source), 1 / source),
        "decoder": np.broadcast_to(prefix, (1, 2, target, target)),
        "cross": np.full((1, 2, target, source), 1 / source),
        "target_probabilities": np.array([0.9, 0.25, 0.6]),
        "target_ranks": np.array([1, 2, 1]),
        "entropies": np.array([0.5, 0.75, 1.5]),
        "candidate_ids": np.array([[20, 22], [23, 21], [3, 24]]),
        "candidate_probabilities": np.array([[0.9, 0.05], [0.7, 0.25], [0.6, 0.3]]),
        "candidate_tokens": (("▁keine", "▁nicht"), ("▁Hund", "▁Katze"), ("</s>", ".")),
    }
    return Trace(**{**fields, **changes})


def made_map(
    weights: Sequence[Sequence[float]],
    kind: str = "cross",
    layer: int | None = 1,
    head: int | None = 0,
    keys: Sequence[str] | None = None,
    row_label: str = "fed",
) -> AttentionMap:
    """A map of 3 layers of 8 heads over the made sentence, `keys` its columns where they are others."""
    own = {"encoder": (SOURCE, None, SOURCE), "decoder": (FED, NEXT, FED), "cross": (FED, NEXT, SOURCE)}
    fed, predicted, columns = own[kind]
    labels = fed, predicted, tuple(keys or columns)
    return AttentionMap(AttentionKind(kind), layer, head, 3, 8, np.array(weights), *labels, RowLabel(row_label))
