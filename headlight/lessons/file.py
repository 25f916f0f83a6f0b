"""A lesson's file: words in TOML, read with every mistake named by its line and field.

    title = "What does attention carry over?"
    goal = "You can say what a head of cross-attention carries over, and what is lost without it."
    minutes = 10
    sentences = ["The cat is hungry because it has not eaten."]   # the first, and others where it decides nothing

    [[step]]
    page = "home"
    at = {map = "1", head = "cross.{layer}.1"}  # names and values of its address, see `parameters`
    say = "Every line is **one weight** of one head."
    ask = "Which source word does this head read for “{word}”?"
    answer = {from = "most_read"}            # a measure with its arguments
    hints = ["Look at the row of “{word}”."]
    words.truth = "It reads “{read}” most." # see `Answer.in_words`; without words those of a shipped step
    show = {tokens = "q{row}"}               # what the address gets besides when the answer is shown

{names} are filled by the step's measure, {home_head} in an address by the head that Home shows. Numbers are measured: a
digit stands in `code` or in a paper's year alone.
"""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headlight.app.entry import LESSONS_VARIABLE, checkpoints_folder
from headlight.app.navigation import page_names
from headlight.app.parameters import PARAMETERS
from headlight.language import read_texts, texts_of
from transformer.errors import UserError

from .words import NAME, Words

SHIPPED = Path(__file__).with_name("shipped")
QUIZ = SHIPPED / "quiz.toml"  # no lesson
MOST_STEPS, MOST_HINTS, MOST_WORDS = 20, 3, 60
_FILE_NAME = re.compile(r"[a-z][a-z0-9_]{0,30}")
_NO_MEASURE = re.compile(r"`[^`]*`|\b(?:19|20)\d\d\b")  # code, and the year of a paper
_LESSON: dict[str, type] = {
    **dict.fromkeys(("title", "goal", "closing", "needs"), str),
    **dict.fromkeys(("minutes", "number"), int),
    **dict.fromkeys(("sentences", "step"), list),
}
_STEP = (
    dict.fromkeys(("page", "say", "ask", "note", "sample", "show_page", "look"), str)
    | dict.fromkeys(("at", "answer", "show", "words"), dict)
    | dict.fromkeys(("hints", "veil", "cover", "sentences"), list)
)


class LessonError(UserError):
    """A lesson's file cannot be read: the sentence names its line and field."""


@dataclass(frozen=True)
class Step:
    """One step: a page with its address, a text, and perhaps a question, or a `note` to write, which is not judged.

    sample: an answer to compare a written one with. answer: a measure's name, with its arguments. show: additions to
    the address `at` when the answer is shown, on `show_page` where it is another one. veil: keys of containers that
    are blurred until it is answered; cover: of those that stay so, because a later step asks about them. look: the key
    of a part to scroll to. words: what is said about the answer, see `Answer.in_words`.
    """

    page: str
    say: str
    at: Mapping[str, str] = field(default_factory=dict)
    ask: str = ""
    answer: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    sample: str = ""
    hints: tuple[str, ...] = ()
    show: Mapping[str, str] = field(default_factory=dict)
    show_page: str = ""
    veil: tuple[str, ...] = ()
    cover: tuple[str, ...] = ()
    look: str = ""
    sentences: tuple[str, ...] = ()
    words: Words = field(default_factory=dict)

    @property
    def is_question(self) -> bool:
        """Return whether it has a measured question."""
        return bool(self.ask and self.answer)


@dataclass(frozen=True)
class Lesson:
    """A lesson by the `name` of its file. number: its rank in the list; closing: the text at its end, else the goal.

    needs: the name of a checkpoint without which the lesson is left out, "" for none.
    """

    name: str
    title: str
    goal: str
    minutes: int
    steps: tuple[Step, ...]
    sentences: tuple[str, ...] = ()
    number: int = 99
    closing: str = ""
    needs: str = ""

    @property
    def questions(self) -> list[int]:
        """Return the steps with a question, counted from 1."""
        return [number for number, step in enumerate(self.steps, start=1) if step.is_question]

    def sentences_of(self, step: int) -> tuple[str, ...]:
        """Return the sentences to take for a step, counted from 0, the first one that decides it."""
        return self.steps[step].sentences or self.sentences


def lesson_files(folder: str | Path | None = None) -> dict[str, Path]:
    """Return all lessons' files by name: the shipped ones, and those of a folder, the environment's unless given.

    A lesson of the folder replaces the shipped one of its name.
    """
    added = folder or os.environ.get(LESSONS_VARIABLE)
    folders = [SHIPPED, *([Path(added)] if added else [])]
    paths = [path for each in folders if each.is_dir() for path in sorted(each.glob("*.toml"))]
    return {path.stem: path for path in paths if path != QUIZ and "." not in path.stem}  # no translation


def read_lessons(folder: str | Path | None = None) -> tuple[list[Lesson], list[str]]:
    """Return the lessons in their order, and a sentence with the reason for each file that cannot be read.

    A lesson whose checkpoint is missing is left out.
    """
    lessons, problems = [], []
    for path in lesson_files(folder).values():
        try:
            lessons.append(read_lesson(path))
        except LessonError as error:
            problems.append(str(error))
    shown = [each for each in lessons if not each.needs or (checkpoints_folder() / each.needs).is_dir()]
    return sorted(shown, key=lambda each: (each.number, each.title)), problems


def read_lesson(path: str | Path) -> Lesson:
    """Return the lesson in a file. Raises LessonError."""
    path = Path(path)
    try:
        content = read_texts(path)
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError, tomllib.TOMLDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise LessonError(f"{path.name} cannot be read: {reason}.") from None
    # The tests check the shipped files: a check imports every measure.
    for problem in () if path.parent == SHIPPED else problems_of(path, content):
        raise LessonError(f"{path.name}, line {_line(text, problem)}: {problem.words}")
    fields = _frozen(content)
    steps = tuple(map(_step, fields.pop("step")))
    return Lesson(path.stem, steps=steps, **fields)


def shipped_words(measure: str) -> Words:
    """Return the words of the first shipped step that has a measure: for lessons that say nothing else about it."""
    steps = [step for path in lesson_files(SHIPPED).values() for step in texts_of(path)["step"]]
    return next((step.get("words", {}) for step in steps if step.get("answer", {}).get("from") == measure), {})


def line_of(path: Path, step: int) -> int:
    """Return the line on which a step begins, counted from 1."""
    return _line(path.read_text(encoding="utf-8"), _Problem("", step))


def _step(table: Mapping[str, Any]) -> Step:
    values = _frozen(table)
    arguments = dict(values.pop("answer", {}))
    return Step(answer=arguments.pop("from", ""), arguments=arguments, **values)


def _frozen(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


@dataclass(frozen=True)
class _Problem:
    """A mistake: a sentence, its step, counted from 1 (0: above all steps), and its field."""

    words: str
    step: int = 0
    key: str = ""


def _line(text: str, problem: _Problem) -> int:
    """Return the line of a problem's field, else of its step, else the first."""
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines) if re.match(r"\s*\[\[\s*step\s*\]\]", line)]
    bounds = [0, *starts, len(lines)]
    first, last = bounds[problem.step], bounds[problem.step + 1] if problem.step < len(starts) + 1 else len(lines)
    for number in range(first, last):
        if problem.key and re.match(rf"\s*{re.escape(problem.key)}\s*[.=]", lines[number]):
            return number + 1
    return first + 1


def problems_of(path: Path, content: Mapping[str, Any]) -> Iterator[_Problem]:
    """Yield the mistakes in a file's content, step by step."""
    if not _FILE_NAME.fullmatch(path.stem):
        yield _Problem("The file's name must be of small letters, digits and _, beginning with a letter.")
    yield from _wrong_fields(content, _LESSON, {"title", "goal", "minutes", "step"}, 0)
    if not 1 <= content["minutes"] <= 90:
        yield _Problem("“minutes” must be from 1 to 90.", key="minutes")
    if not 1 <= len(content["step"]) <= MOST_STEPS:
        yield _Problem(f"There must be 1 to {MOST_STEPS} steps.", key="step")
    for number, step in enumerate(content["step"], start=1):
        if not isinstance(step, dict):
            yield _Problem("A step is a table, [[step]].", number)
            continue
        yield from _wrong_step(step, number)


def _wrong_fields(
    table: Mapping[str, Any], types: Mapping[str, type], needed: set[str], step: int
) -> Iterator[_Problem]:
    for key, value in table.items():
        if key not in types:
            yield _Problem(f"There is no field “{key}”; there are {', '.join(types)}.", step, key)
        elif not isinstance(value, types[key]) or isinstance(value, bool):
            yield _Problem(f"“{key}” must be {_TYPE_WORDS[types[key]]}.", step, key)
        elif isinstance(value, str) and not value.strip():
            yield _Problem(f"“{key}” is empty.", step, key)
        elif isinstance(value, list) and key != "step" and not all(type(it) is str and it.strip() for it in value):
            yield _Problem(f"“{key}” must be a list of texts.", step, key)
    for key in sorted(needed - table.keys()):
        yield _Problem(f"The field “{key}” is missing.", step, key)


_TYPE_WORDS = {str: "a text", int: "a whole number", list: "a list", dict: "a table, {name = …}"}


def _wrong_step(step: Mapping[str, Any], number: int) -> Iterator[_Problem]:
    yield from _wrong_fields(step, _STEP, {"page", "say"}, number)
    for key in ("page", "show_page"):
        if key in step and step[key] not in page_names():
            yield _Problem(f"There is no page “{step[key]}”; there are {', '.join(page_names())}.", number, key)
    for key in ("at", "show"):
        for name, value in step.get(key, {}).items():
            if name not in PARAMETERS:
                yield _Problem(f"“{key}” has “{name}”, which no address knows.", number, key)
            elif not isinstance(value, str):
                yield _Problem(f"“{name}” in “{key}” must be a text, as an address has it.", number, key)
    if len(step.get("hints", ())) > MOST_HINTS:
        yield _Problem(f"There may be at most {MOST_HINTS} hints.", number, "hints")
    if "ask" in step and "answer" not in step:
        yield _Problem("“ask” needs an “answer”; a question that nothing can measure is a “note”.", number, "ask")
    if "sample" in step and "note" not in step:
        yield _Problem("“sample” is an answer to a “note”, which is missing.", number, "sample")
    if "answer" in step:
        yield from _wrong_answer(step["answer"], number)
    for key in ("say", "ask", "note", "sample"):
        yield from _wrong_words(step.get(key, ""), key, number)
    for hint in step.get("hints", ()):
        yield from _wrong_words(hint, "hints", number)
    for name, words in step.get("words", {}).items():
        if not all(isinstance(each, str) for each in (words.values() if isinstance(words, dict) else (words,))):
            yield _Problem(f"“{name}” in “words” must be a text, or a table of one and other.", number, "words")


def _wrong_answer(answer: Mapping[str, Any], number: int) -> Iterator[_Problem]:
    from .register import wrong_arguments  # imports every measure

    arguments = {key: value for key, value in answer.items() if key != "from"}
    words = wrong_arguments(str(answer.get("from", "")), arguments) if "from" in answer else "“answer” needs “from”."
    if words:
        yield _Problem(words, number, "answer")


def _wrong_words(text: str, key: str, number: int) -> Iterator[_Problem]:
    if re.search(r"\d", _NO_MEASURE.sub("", NAME.sub("", text))):
        yield _Problem(f"“{key}” has a number: let a measure say it, or write it as `code`.", number, key)
    if len(text.split()) > MOST_WORDS:
        yield _Problem(f"“{key}” has more than {MOST_WORDS} words.", number, key)
