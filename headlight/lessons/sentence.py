"""Choice of a lesson's sentence: one rule for a visitor, a class, the teacher's sheet and the worksheets.

A sentence of the visitor's own stays where it decides every question. Otherwise each step takes the sentence of the
step before where it is among its own ones, or else the first of these that decides it.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from headlight.app import results
from headlight.app.parameters import PARAMETERS
from headlight.app.results import TranslationRequest
from transformer.errors import UserError

from .answer import Run
from .file import Lesson
from .step_view import StepView, pose, pose_decided
from .words import phrase

_say = partial(phrase, "sentence")


def walk(lesson: Lesson, request: TranslationRequest) -> Iterator[StepView]:
    """Yield the steps of a lesson that begins with a request's sentence. Raises UserError."""
    if request.text == PARAMETERS["text"].default or undecided_questions(lesson, request):
        request = replace(request, text=next(iter(step_sentences(lesson, 0, request)), request.text))
    for number in range(len(lesson.steps)):
        view = pose_step(lesson, number, Run(request))
        request = view.run.request
        yield view


def pose_step(lesson: Lesson, number: int, run: Run) -> StepView:
    """Return a step, from 0, for the visitor's own sentence or for one of the lesson's. Raises UserError."""
    sentences = step_sentences(lesson, number, run.request)
    if run.request.text not in all_sentences(lesson):
        return pose(lesson, number, run)
    if sentences and run.request.text not in sentences:
        run = replace(run, request=replace(run.request, text=sentences[0]))
    return pose_decided(lesson, number, run, sentences)


def undecided_questions(lesson: Lesson, request: TranslationRequest) -> list[int]:
    """Return the steps, from 1, whose questions a sentence does not decide, none for a sentence of the lesson."""
    if request.text in all_sentences(lesson):
        return []
    try:
        results.trace(request)
        return [number for number in lesson.questions if pose(lesson, number - 1, Run(request)).undecided]
    except UserError:  # it cannot be translated
        return lesson.questions


def all_sentences(lesson: Lesson) -> set[str]:
    """Return the sentences of all steps of a lesson."""
    return {text for step in range(len(lesson.steps)) for text in lesson.sentences_of(step)}


def reason_words(lesson: Lesson, request: TranslationRequest) -> str:
    """Return why a sentence of the visitor's own gives way, "" where it does not."""
    is_own = request.text != PARAMETERS["text"].default
    steps = tuple(undecided_questions(lesson, request)) if is_own else ()
    return _say("reason", text=request.text, number=steps) if steps else ""


def step_sentences(lesson: Lesson, number: int, request: TranslationRequest) -> tuple[str, ...]:
    """Return the lesson's sentences for a step; they are English."""
    reads = results.translator(request.checkpoint).checkpoint.data.get("source_language", "English")
    return lesson.sentences_of(number) if reads == "English" else ()
