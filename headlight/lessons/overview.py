"""A lesson as a teacher reads it: every step for one checkpoint and sentence, with what is right."""

from dataclasses import dataclass, replace

from headlight.app.navigation import GROUPS
from headlight.app.results import TranslationRequest

from .answer import Kind, Run, number_words
from .file import Lesson
from .posed import Posed, Text, pose_somehow

TITLES = {name: title for pages in GROUPS.values() for name, title in pages.items()}


@dataclass(frozen=True)
class ToldStep:
    """A step for one run: what is said and asked, the options, and what is right, all as texts."""

    number: int
    page: str
    sentence: str
    said: str
    asked: str
    kind: str
    options: tuple[str, ...]
    answer: str
    why: str

    @property
    def question(self) -> str:
        """Return what is asked, or where nothing is, what is said."""
        return self.asked or self.said


def overview(lesson: Lesson, request: TranslationRequest) -> list[ToldStep]:
    """Return a lesson's steps for a sentence, or where that does not decide one, for the lesson's own that does.

    Raises UserError.
    """
    return [_told(pose_for(lesson, number, request)) for number in range(len(lesson.steps))]


def pose_for(lesson: Lesson, number: int, request: TranslationRequest) -> Posed:
    """Put a step, from 0, for a request's sentence, or for the step's own where it has some. Raises UserError."""
    own = lesson.steps[number].sentences
    if own and request.text not in own:
        request = replace(request, text=own[0])
    return pose_somehow(lesson, number, Run(request), lesson.sentences_of(number))


def _told(posed: Posed) -> ToldStep:
    step, answer = posed.step, posed.answer
    said, asked = map(plain_text, posed.glossed(posed.text(step.say), posed.text(step.ask) if answer else []))
    labels = {option.name: posed.label(option) for option in posed.options}
    if answer is None or not step.is_question:
        right, why, kind = posed.undecided or plain_text(posed.text(step.sample)), "", ""
    else:
        kind, why = str(answer.kind), posed.fill(answer.truth)
        right = ", ".join(labels[name] for name in labels if name in answer.right)
        if answer.kind == Kind.NUMBER:
            right = number_words(answer.value)
    return ToldStep(
        posed.number + 1,
        TITLES[step.page],
        posed.run.request.text,
        said,
        asked or plain_text(posed.text(step.note)),
        kind or ("note" if step.note else ""),
        tuple(labels.values()),
        f"{right}. {why}" if right and why else right or why,
        why,
    )


def plain_text(text: Text) -> str:
    """Return a styled text without its styles."""
    return "".join(part for _, part in text)
