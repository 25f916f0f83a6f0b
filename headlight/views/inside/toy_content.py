"""What the small example shows of one head, as a function of its numbers."""

from transformer.experiments.attention import ToyNumbers, rounding_gaps
from transformer.interpret.attention_block import Stages

from .steps_content import View, stages_payload


def toy_view(numbers: ToyNumbers, sentence: int, head: int) -> View:
    """Return the view of one head of the example, sentence and head counted from 0."""
    tokens = tuple(f"token {number + 1}" for number in range(numbers.unmasked.shape[-1]))
    return View("encoder", 0, head, sentence, tokens, tokens, toy=True)


def toy_payload(numbers: ToyNumbers, stages: Stages, view: View) -> dict:
    """Return everything the component shows of the example, ready for JSON; stages: what its numbers make."""
    return stages_payload(stages, numbers.parameters, rounding_gaps(stages), view, editable=True)
