"""Lessons in a live page: what its JavaScript needs to put every step to the sentence of whoever reads it.

A step's question is measured there, by the page's engine; here is what does not change with the sentence: the texts of
the lessons' files, the words in which each measure says what it finds, and the answers that are the same for every
sentence.
"""

import inspect
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import ModuleType

import numpy as np

from headlight.app.results import TranslationRequest, translator
from headlight.views.inside.toy_content import toy_payload, toy_view
from transformer.experiments.attention import toy_numbers

from . import offline, panel, posed
from .answer import Answer, Kind, Run
from .file import Lesson, Step
from .glosses import glosses
from .measures import alignment, attention, decoding, hand, heads, masks, order, scaling, wording
from .overview import TITLES
from .phrases import Phrases, phrases
from .posed import Posed, pose, styled

# Measures that are not about the sentence: of the small example, of random vectors, of the formula of positions.
OF_NO_SENTENCE = frozenset(
    {
        *("toy_projection", "toy_best_key", "toy_score", "toy_largest_weight", "toy_output", "toy_masked"),
        *("spread_growth", "typical_gradient", "size_without_effect"),
        *("rotation_angle", "turned_around", "most_alike"),
    }
)
_FILES = (alignment, attention, decoding, hand, heads, masks, order, scaling, wording)  # whose measures a page can do


def live_lessons(lessons: Sequence[Lesson], request: TranslationRequest) -> dict:
    """Return what a live page is told of lessons, ready for JSON; the request says for which checkpoint."""
    language = translator(request.checkpoint).checkpoint.data
    english = language.get("source_language", "English") == "English"
    return {
        "checkpoint": request.checkpoint.name,
        "lessons": [_lesson(lesson, request, english=english) for lesson in lessons],
        "phrases": _all_phrases(),
        "limits": {_name(file): _limits(file) for file in _FILES},
        "glosses": dict(glosses(language.get("target_language", ""))),
        "examples": {str(seed): _example(seed) for seed in sorted(_seeds(lessons))},
        "titles": TITLES,
    }


def _lesson(lesson: Lesson, request: TranslationRequest, *, english: bool) -> dict:
    return {
        "name": lesson.name,
        "title": lesson.title,
        "goal": lesson.goal,
        "minutes": lesson.minutes,
        "steps": [
            _step(step, pose(lesson, number, Run(request)) if step.answer in OF_NO_SENTENCE else None)
            | {"sentences": lesson.sentences_of(number) if english else ()}
            for number, step in enumerate(lesson.steps)
        ],
    }


def _step(step: Step, fixed: Posed | None) -> dict:
    """Return a step as its file has it, texts in parts by style, and its answer where any sentence has the same."""
    texts = {name: styled(getattr(step, name)) for name in ("say", "ask", "note", "sample")}
    kept = ("page", "at", "hints", "show", "show_page", "veil", "cover", "arguments")
    told = {name: getattr(step, name) for name in kept} | texts | {"measure": step.answer}
    if fixed is None:
        return told
    # In bytes, which are not read at a glance.
    answer = {"undecided": fixed.undecided} if fixed.answer is None else _answer(fixed)
    if step.answer == "toy_masked" and fixed.answer is not None:
        answer |= {"kind": str(Kind.DO), "flips": _flips_of(fixed), "truth": ""}
    return told | {"answer": json.dumps(answer, ensure_ascii=False, allow_nan=False).encode()}


def _answer(fixed: Posed) -> dict:
    """Return an answer ready for JSON. What is to be done in the app alone is told as `offline` tells it."""
    answer = fixed.answer
    assert answer is not None
    truth, address = answer.truth, fixed.address(shown=True)
    if answer.kind == Kind.DO and address is not None:
        truth = offline.said_when_done(fixed, Run(fixed.run.request, address))
    return {
        "kind": "" if answer.kind == Kind.DO else str(answer.kind),
        "truth": truth,
        "calculation": answer.calculation,
        "options": [[option.name, option.label, option.told] for option in answer.options],
        "right": sorted(answer.right),
        "value": answer.value,
        "tolerance": answer.tolerance,
        "relative": answer.relative,
        "bounds": answer.bounds,
        "names": dict(answer.names),
    }


def _seeds(lessons: Sequence[Lesson]) -> set[int]:
    """Return the seeds of the small examples that lessons are about."""
    steps = (step for lesson in lessons for step in lesson.steps if step.answer.startswith("toy_"))
    return {step.arguments["seed"] for step in steps}


def _masks() -> dict[str, np.ndarray]:
    """Return the masks that a page has of a small example, by how an address says them: none, and each cell alone."""
    size = hand.SHAPE.tokens**2
    cells = np.vstack([np.zeros(size, dtype=bool), np.eye(size, dtype=bool)])
    shape = (hand.SHAPE.batch, hand.SHAPE.tokens, hand.SHAPE.tokens)
    return {"".join("1" if cell else "0" for cell in row) if row.any() else "": row.reshape(shape) for row in cells}


def _example(seed: int) -> dict:
    """Return what the small example shows, and by the mask what of it is another with that."""
    numbers, shown = toy_numbers(hand.SHAPE, seed), {}
    for flipped, cells in _masks().items():
        masked = replace(numbers, unmasked=numbers.unmasked ^ cells)
        shown[flipped] = toy_payload(masked, masked.stages(), toy_view(masked, 0, 0))
    plain = shown.pop("")
    return plain | {"flips": {flipped: _differences(plain, each) for flipped, each in shown.items()}}


def _differences(plain: dict, other: dict) -> dict:
    """Return the arrays, and of the steps by their numbers the parts, that differ."""
    return {
        "arrays": {name: array for name, array in other["arrays"].items() if array != plain["arrays"][name]},
        "steps": {
            str(number): {name: value for name, value in step.items() if value != before[name]}
            for number, (before, step) in enumerate(zip(plain["steps"], other["steps"], strict=True))
            if step != before
        },
    }


def _flips_of(fixed: Posed) -> dict[str, dict]:
    """Return for each mask of the small example how things stand, and whether that is what is asked for."""
    told, at = {}, fixed.address() or {}
    for flipped in _masks():
        run = Run(fixed.run.request, at | {"toy_flipped": flipped})
        answer = pose(fixed.lesson, fixed.number, run).answer
        assert answer is not None
        told[flipped] = {"truth": answer.truth, "done": answer.done}
    return told


def _all_phrases() -> dict[str, Phrases]:
    """Return the words of all measures that a page can do, and of what is said around them, by file and function."""
    found = {
        f"{_name(file)}.{name}": phrases(function)
        for file in _FILES
        for name, function in inspect.getmembers(file, inspect.isfunction)
        if function.__module__ == file.__name__ and name not in OF_NO_SENTENCE
    }
    scale: property = vars(Answer)["scale"]
    assert scale.fget is not None
    around: dict[str, Callable[..., object]] = {
        "narrowed": Posed.narrowed,
        "predicted": Posed.predicted,
        "off": posed.off_words,
        "scale": scale.fget,
        "elsewhere": offline.elsewhere,
        "end": panel.end_of,
    }
    found |= {name: phrases(function) for name, function in around.items()}
    return {name: each for name, each in found.items() if each}


def _name(file: ModuleType) -> str:
    return file.__name__.rpartition(".")[2]


def _limits(file: ModuleType) -> dict:
    """Return the numbers and sets of names that a file of measures goes by, what it shares with others included."""
    return {
        name: sorted(value) if isinstance(value, frozenset) else value
        for name, value in vars(file).items()
        if name.isupper() and isinstance(value, (int, float, frozenset, tuple))
    }
