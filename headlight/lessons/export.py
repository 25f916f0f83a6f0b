"""Lessons as data for the one-file page: every question with its answer, for the sentences of the lesson.

The page's player (headlight/components/live_page/lessons.js) shows them beside the views; it measures nothing.
"""

import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from headlight.app import results
from headlight.app.navigation import page_titles
from headlight.app.parameters import PARAMETERS
from headlight.app.results import CheckpointFiles, TranslationRequest
from headlight.language import language
from headlight.views.attention.explorer_content import OPTIONS
from headlight.views.inside.block_facts import toy_block
from transformer.checkpoint import load_checkpoint, save_checkpoint
from transformer.errors import UserError
from transformer.exchange import round_weights
from transformer.experiments.attention import toy_numbers

from .answer import Answer, Kind, Run
from .file import Lesson, read_lessons
from .measures.hand import SHAPE
from .step_view import HOME_HEAD, StepView, off_words, payload_of, pose
from .visit import Try
from .words import phrase

_say = partial(phrase, "export")

# Views of the file by the app's page, and the figures of that page which the view has; "" is the page's first one.
_VIEWS = {
    "home": ("home", {""}),
    "attention": ("attention", {"", "explorer"}),
    "decoding": ("decoding", {"", "step by step", "beam search"}),
    "what_if": ("heads", {"", "head ablation"}),
    "inside": ("inside", {"", "step by step", "small example"}),
}
_FIGURES = {"decoding": "decoding_view"}  # the name of the figure in the address, where it is not the page's
_EXAMPLE = "toy_block_seed"  # in the address: the small example


def export_lessons(lessons: Sequence[Lesson], checkpoint: Path) -> dict:
    """Return the lessons for the page of a checkpoint, ready for JSON. Raises UserError.

    Those that need another checkpoint are left out.
    All is measured with the weights of the page, which are rounded.
    """
    from .quiz import alone_payload  # no page needs it before one is exported

    reads = load_checkpoint(checkpoint).data.get("source_language") or "English"
    if reads != "English":
        raise UserError(f"The lessons' sentences are English; this checkpoint reads {reads}.")
    with TemporaryDirectory() as folder:
        copy = Path(folder) / checkpoint.resolve().name
        write_rounded(checkpoint, copy)
        exported = [_lesson(lesson, CheckpointFiles.now(copy)) for lesson in lessons if not lesson.needs]
    seeds = {
        answer[moment]["values"].get(_EXAMPLE)
        for lesson in exported
        for step in lesson["steps"]
        for answer in step["answers"].values()
        for moment in ("at", "shown")
    }
    examples = {seed: toy_block(toy_numbers(SHAPE, int(seed)), 0, 0).facts() for seed in sorted(filter(None, seeds))}
    return {"lessons": exported, "examples": examples, "quiz": alone_payload()}


def first_lesson(checkpoint: CheckpointFiles) -> dict | None:
    """Return lesson 1 for the page of a checkpoint; None where its sentences are in another language."""
    return _first_lesson(checkpoint, language())


@results.cached(max_entries=4, show_spinner=False)
def _first_lesson(checkpoint: CheckpointFiles, interface: str) -> dict | None:
    if results.translator(checkpoint).checkpoint.data.get("source_language") != "English":
        return None
    return export_lessons([lesson for lesson in read_lessons()[0] if lesson.number == 1], Path(checkpoint.folder))


def write_rounded(checkpoint: Path, copy: Path) -> None:
    """Copy all files of a checkpoint into a new folder, with the weights of the page."""
    loaded = load_checkpoint(checkpoint)
    round_weights(loaded.model)
    shutil.copytree(checkpoint, copy)
    save_checkpoint(copy, loaded, next(loaded.model.parameters()).dtype)


def _lesson(lesson: Lesson, checkpoint: CheckpointFiles) -> dict:
    return {
        "name": lesson.name,
        "title": lesson.title,
        "goal": lesson.goal,
        "closing": lesson.closing,
        "minutes": lesson.minutes,
        "steps": [_step(lesson, number, checkpoint) for number in range(len(lesson.steps))],
    }


def _step(lesson: Lesson, number: int, checkpoint: CheckpointFiles) -> dict:
    """Return a step with its answer for each sentence that decides its question.

    judged: whether the page says if an answer is right; any: whether the step is the same for every sentence.
    """
    step, texts = lesson.steps[number], lesson.sentences_of(number) or (str(PARAMETERS["text"].default),)
    steps = [pose(lesson, number, Run(TranslationRequest(checkpoint, text))) for text in texts]
    decided = [view for view in steps if not view.undecided] or steps[:1]
    return {
        "judged": any(view.answer and step.is_question and view.answer.kind != Kind.DO for view in decided),
        "any": not step.answer and HOME_HEAD not in step.at.values(),
        "veil": step.veil,
        "cover": step.cover,
        "answers": {view.run.request.text: _answer(view) for view in decided},
    }


def _answer(view: StepView) -> dict:
    """Return the panel of a step as it begins, its answer, and the views that show both."""
    step, panel = view.step, payload_of(view, Try())
    feedback = _feedback(view) if "ask" in panel else None
    if panel.get("kind") == Kind.DO:
        panel |= {"kind": "", "undecided": _say("unjudged")}
    return {
        "panel": {name: value for name, value in panel.items() if name != "tried"},
        "feedback": feedback,
        "at": _destination(step.page, view.address() or {}),
        "shown": _destination(step.show_page or step.page, _when_shown(view).address(shown=True) or {}),
    }


def _feedback(view: StepView) -> dict:
    """Return the right answer, the hints, the feedback on each choice, and the truth for all of them."""
    answer = view.answer
    assert answer is not None
    return {
        "right": sorted(answer.right),
        "value": answer.value,
        "margin": answer.margin,
        "hints": view.hints(),
        "choices": _feedback_by_choice(view, answer),
        "truth": _truth_when_done(view) if answer.kind == Kind.DO else view.feedback(None),
    }


def _when_shown(view: StepView) -> StepView:
    """Return a step for the address and the sentence with which its answer is shown."""
    address, request = view.address(shown=True) or {}, view.run.request
    return pose(view.lesson, view.number, Run(replace(request, text=address.get("text", request.text)), address))


def _truth_when_done(view: StepView) -> str:
    """Return the feedback once the step is done as its address shows; the last hint where that does not do it."""
    done = _when_shown(view)
    return done.feedback(None) if done.answer and done.answer.done else view.hints()[-1]


def _feedback_by_choice(view: StepView, answer: Answer) -> dict[str, str]:
    """Return the feedback on a choice: by an option's name; of several options by the counts of right and wrong ones,
    "2 1"; on a number that is too low or too high.
    """
    if answer.kind == Kind.NUMBER:
        return {"low": off_words(answer, -math.inf), "high": off_words(answer, math.inf)}
    if answer.kind == Kind.ONE:
        return {option.name: view.feedback(option.name, whole=False) for option in answer.options}
    right = sorted(answer.right)
    wrong = [option.name for option in answer.options if option.name not in answer.right]
    return {
        f"{hit} {others}": view.feedback([*right[:hit], *wrong[:others]], whole=False)
        for hit in range(len(right) + 1 if answer.kind == Kind.SEVERAL else 0)
        for others in range(len(wrong) + 1)
    }


def _destination(page: str, address: Mapping[str, str]) -> dict:
    """Return the file's view and its address for a page of the app, and a line where the file lacks the figure."""
    view, figures = _VIEWS.get(page, ("home", set()))
    name = _FIGURES.get(page, page)
    missing = "" if address.get(name, "") in figures else _say("missing", page=page_titles()[page])
    values = {key: value for key, value in address.items() if key != page or key != name}
    if "head" in address and (view in ("home", "attention") or missing):
        view, values = "attention", {key: values[key] for key in ("head", "query", "key", *OPTIONS) if key in values}
    return {"view": view, "values": values, "missing": missing}
