"""Sentences on a beam search as a tree: how the best was found, and where it was behind."""

from collections.abc import Sequence

from headlight.plots.text import counted
from transformer.decoding.beam import Outcome
from transformer.decoding.search_tree import Branch, way_to

from .beam_tree_payload import winner


def describe_tree(branches: Sequence[Branch]) -> str:
    """How many branches there were and what became of them; at which steps the best was not first, and how far back."""
    ended = sum(branch.outcome == Outcome.ENDED for branch in branches)
    fell = sum(branch.outcome == Outcome.FELL_OUT for branch in branches)
    text = (
        f"The beam held {counted(len(branches), 'translation')} under way or ended: {ended} ended, {fell} fell out "
        "because none of their continuations was among the best."
    )
    way = way_to(tuple(branches), winner(branches))
    behind = [(len(branches[each].ids), branches[each].place) for each in way if (branches[each].place or 1) > 1]
    if not ended:
        return f"{text} None reached its end."
    if not behind:
        return f"{text} The best translation was first in the beam at every step."
    step, place = max(behind, key=lambda each: each[1])
    where = "step" if len(behind) == 1 else "steps"
    steps = ", ".join(str(each) for each, _ in behind)
    return f"{text} The best was not first in the beam after {where} {steps}: place {place} after step {step}."
