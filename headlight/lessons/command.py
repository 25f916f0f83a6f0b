"""The commands `lessons`, which lists, checks and prints them, and `gain`, of the quiz."""

import argparse
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from transformer.commands.options import AddCommand, add_checkpoint
from transformer.errors import UserError
from transformer.files import write_atomically

if TYPE_CHECKING:
    from headlight.app.results import TranslationRequest

    from .file import Lesson


def add_commands(command: AddCommand) -> None:
    """Add the command of this file."""
    lessons = command("lessons", _run, "list lessons, check a lesson's file, print a worksheet")
    actions = lessons.add_subparsers(dest="action", required=True, metavar="ACTION")
    listed = actions.add_parser("list", help="list all lessons")
    listed.add_argument("--lessons", type=Path, metavar="FOLDER", help="and those in a folder of your own")
    check = actions.add_parser("check", help="say what is wrong with lessons' files, with line and field")
    check.add_argument("files", nargs="+", type=Path, metavar="FILE")
    printed = actions.add_parser("worksheet", help="write a lesson as a page to print")
    printed.add_argument("lesson", help="a lesson's name, or its file")
    printed.add_argument("--out", type=Path, required=True, help="the .html file to write")
    printed.add_argument("--answers", action="store_true", help="with the answers")
    printed.add_argument("--text", help="a sentence of your own (the lesson's)")
    proofread = actions.add_parser("pose", help="print every step of all lessons for sentences of your own")
    proofread.add_argument("--sentences", type=Path, required=True, metavar="FILE", help="a text file, one per line")
    actions.add_parser("measures", help="list the measures that a lesson may ask for, as a table in Markdown")
    for parser in (check, printed, proofread):
        add_checkpoint(parser, required=False)
    gain = command("gain", _gain, "compute the gain from the quiz before to the quiz after, of classes' tables")
    gain.add_argument("files", nargs="+", type=Path, metavar="CLASS.csv", help="a class's table, or visitors' results")


def _gain(options: argparse.Namespace) -> None:
    from .gain import run

    run(options)


def _run(options: argparse.Namespace) -> int | None:
    expect_no_page()
    run = {"list": _list, "check": _check, "worksheet": _print, "pose": _pose, "measures": _measures}[options.action]
    return run(options)


def _list(options: argparse.Namespace) -> int:
    from .file import read_lessons

    lessons, problems = read_lessons(options.lessons)
    for lesson in lessons:
        print(f"{lesson.name:<14}{lesson.minutes:>3} min  {lesson.title}")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def _check(options: argparse.Namespace) -> int:
    """Check each file, and each of its steps for its own sentences."""
    from .file import LessonError, read_lesson

    wrong = 0
    for path in options.files:
        try:
            lesson = read_lesson(path)
        except LessonError as error:
            print(error)
            wrong += 1
            continue
        problems = _unmeasured(lesson, path, options.checkpoint)
        for problem in problems:
            print(problem)
        wrong += bool(problems)
        if not problems:
            questions = sum(step.is_question for step in lesson.steps)
            print(f"{path.name}: {len(lesson.steps)} steps, {questions} questions: right.")
    return 1 if wrong else 0


def _unmeasured(lesson: "Lesson", path: Path, checkpoint: Path) -> list[str]:
    """Return a sentence for each step that none of its sentences decides, or that uses unknown names."""
    from .answer import Run
    from .file import line_of
    from .step_view import pose_decided, unknown_names

    problems = []
    for number in range(len(lesson.steps)):
        run = Run(_request(checkpoint, _first_sentence(lesson, number)))
        view = pose_decided(lesson, number, run, lesson.sentences_of(number))
        line = f"{path.name}, line {line_of(path, number + 1)}"
        if view.undecided:
            problems.append(f"{line}: no sentence decides this step for {checkpoint.name}: {view.undecided}")
        for name in sorted(unknown_names(view)):
            problems.append(f"{line}: “{{{name}}}” is no name that the step's measure says.")
    return problems


def _print(options: argparse.Namespace) -> None:
    from .overview import overview
    from .worksheet import worksheet

    lesson = find_lesson(options.lesson)
    request = _request(options.checkpoint, options.text or _first_sentence(lesson, 0))
    page = worksheet(lesson, overview(lesson, request), answers=options.answers)
    write_atomically(options.out, page.encode())
    print(f"{lesson.title}: {options.out}")


def _pose(options: argparse.Namespace) -> None:
    """Print all steps for each sentence. Raises UserError."""
    from transformer.data.pairs import read_lines

    from .answer import Run
    from .file import read_lessons
    from .printout import printout
    from .step_view import pose

    lessons, _ = read_lessons()
    for line in read_lines(options.sentences):
        run = Run(_request(options.checkpoint, line.decode("utf-8", "replace").strip()))
        for lesson in lessons:
            for number in range(len(lesson.steps)):
                print(printout(pose(lesson, number, run)))


def _first_sentence(lesson: "Lesson", step: int) -> str:
    """Return the sentence that a step begins with: of a lesson without any, the one that the app begins with."""
    from headlight.app.parameters import PARAMETERS

    return next(iter(lesson.sentences_of(step)), str(PARAMETERS["text"].default))


def _request(checkpoint: Path, text: str) -> "TranslationRequest":
    from headlight.app.results import CheckpointFiles, TranslationRequest

    return TranslationRequest(CheckpointFiles.now(checkpoint), text)


def _measures(options: argparse.Namespace) -> None:
    from .register import table_of_measures

    print(table_of_measures(), end="")


def expect_no_page() -> None:
    """Let Streamlit's cache be used from the command line without a warning that no page is being made."""
    logging.getLogger("streamlit.runtime.scriptrunner_utils.script_run_context").disabled = True


def find_lesson(name: str) -> "Lesson":
    """Return a lesson by its name or file. Raises UserError."""
    from .file import lesson_files, read_lesson

    files = lesson_files()
    if not name.endswith(".toml") and name not in files:
        raise UserError(f"There is no lesson “{name}”; there are {', '.join(files)}.")
    return read_lesson(files.get(name, name))
