"""A step as plain text with everything that a student may read, for authors who proofread a lesson."""

from collections.abc import Iterator

from .answer import Kind, number_words
from .overview import plain_text
from .posed import Posed


def printout(posed: Posed) -> str:
    """Return the step's texts, its options with their feedback, its hints and its answer, one per line."""
    return "\n".join(_lines(posed)) + "\n"


def _lines(posed: Posed) -> Iterator[str]:
    step, answer = posed.step, posed.answer
    yield f"[{posed.lesson.name} {posed.number + 1}] {posed.run.request.text}"
    if posed.undecided:
        yield f"  not asked: {posed.undecided}"
        return
    say, ask = map(plain_text, posed.glossed(posed.text(step.say), posed.text(step.ask)))
    yield f"  {say}"
    for label, text in (("note", step.note), ("sample", step.sample)):
        if text:
            yield f"  {label}: {plain_text(posed.text(text))}"
    if answer is None or not step.is_question:
        return
    yield f"  ask: {ask}"
    for option in posed.options:
        mark = "+" if option.name in answer.right else "-"
        yield f"  {mark} {posed.label(option)} | {posed.feedback(option.name, whole=False)}"
    if answer.kind == Kind.NUMBER:
        yield f"  + {number_words(answer.value)} | {answer.scale}"
    for hint in posed.hints():
        yield f"  hint: {hint}"
    yield f"  truth: {posed.feedback(None)}"
