"""A lesson for its teacher: every step for one checkpoint and sentence, with the right answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from headlight.app.navigation import page_titles
from headlight.app.results import TranslationRequest

from .answer import Kind
from .file import Lesson
from .sentence import walk
from .step_view import StepView, plain_text
from .words import ended, number_words, phrase

_say = partial(phrase, "overview")


@dataclass(frozen=True)
class StepSummary:
    """A step for one run as texts: its question, or else its note, the options, and the right answer."""

    number: int
    page: str
    sentence: str
    say: str
    ask: str
    kind: str
    options: tuple[str, ...]
    answer: str
    why: str

    @property
    def question(self) -> str:
        """Return the question, or without any the text."""
        return self.ask or self.say


def overview(lesson: Lesson, request: TranslationRequest) -> list[StepSummary]:
    """Return the steps of a lesson that begins with a request's sentence. Raises UserError."""
    return [_summary(view) for view in walk(lesson, request)]


def about_words(steps: Sequence[StepSummary]) -> str:
    """Return the sentences of all steps in words."""
    sentences = tuple(dict.fromkeys(f"“{step.sentence}”" for step in steps))
    return ended(_say("about", sentences=sentences))


def _summary(view: StepView) -> StepSummary:
    step, answer = view.step, view.answer
    say, ask = map(plain_text, view.glossed(view.text(step.say), view.text(step.ask) if answer else []))
    labels = {option.name: view.label(option) for option in view.options}
    if answer is None or not step.is_question:
        right, why, kind = view.undecided or view.plain(step.sample), "", ""
    else:
        kind, why = str(answer.kind), view.fill(answer.truth)
        right = ", ".join(labels[name] for name in labels if name in answer.right)
        if answer.kind == Kind.NUMBER:
            right = number_words(answer.value)
    return StepSummary(
        number=view.number + 1,
        page=page_titles()[step.page],
        sentence=view.run.request.text,
        say=say,
        ask=ask or view.plain(step.note),
        kind=kind or ("note" if step.note else ""),
        options=tuple(labels.values()),
        answer=f"{ended(right)} {why}" if right and why else right or why,
        why=why,
    )
