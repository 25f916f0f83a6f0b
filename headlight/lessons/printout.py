"""A step as plain text, with all that a student may read, for authors who proofread a lesson."""

from collections.abc import Iterator

from .answer import Kind
from .step_view import StepView, plain_text
from .words import number_words


def printout(view: StepView) -> str:
    """Return the step's texts, its options with their feedback, its hints and its answer, one per line."""
    return "\n".join(_lines(view)) + "\n"


def _lines(view: StepView) -> Iterator[str]:
    step, answer = view.step, view.answer
    yield f"[{view.lesson.name} {view.number + 1}] {view.run.request.text}"
    if view.undecided:
        yield f"  not asked: {view.undecided}"
        return
    say, ask = map(plain_text, view.glossed(view.text(step.say), view.text(step.ask)))
    yield f"  {say}"
    for label, text in (("note", step.note), ("sample", step.sample)):
        if text:
            yield f"  {label}: {view.plain(text)}"
    if answer is None or not step.is_question:
        return
    yield f"  ask: {ask}"
    for option in view.options:
        mark = "+" if option.name in answer.right else "-"
        yield f"  {mark} {view.label(option)} | {view.feedback(option.name, whole=False)}"
    if answer.kind == Kind.NUMBER:
        yield f"  + {number_words(answer.value)} | {answer.scale}"
    for hint in view.hints():
        yield f"  hint: {hint}"
    yield f"  truth: {view.feedback(None)}"
