"""A lesson on paper: one HTML file to print on A4, without the answers or with them."""

import html
from collections.abc import Sequence
from pathlib import Path

from .file import Lesson
from .overview import ToldStep

_STYLE = Path(__file__).with_name("worksheet.css").read_text(encoding="utf-8")
_LINES = 3


def worksheet(lesson: Lesson, steps: Sequence[ToldStep], *, answers: bool) -> str:
    """Return the worksheet of a lesson as an HTML page; every text in it is escaped."""
    parts = "".join(_section(step, answers=answers) for step in steps)
    name = "" if answers else '<p class="name">Name <span></span> Date <span></span></p>'
    title = html.escape(lesson.title) + (": answers" if answers else "")
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
        f"<body><h1>{title}</h1><p>{html.escape(lesson.goal)} ({lesson.minutes} minutes)</p>{name}{parts}</body></html>"
    )


def _section(step: ToldStep, *, answers: bool) -> str:
    told = (
        f'<p class="where">{html.escape(step.page)} · {html.escape(step.sentence)}</p><p>{html.escape(step.said)}</p>'
    )
    asked = f'<p class="ask">{html.escape(step.asked)}</p>' if step.asked else ""
    options = "".join(f"<li>{html.escape(option)}</li>" for option in step.options)
    space = f"<ul>{options}</ul>" if options else '<div class="line"></div>' * (_LINES if step.kind == "note" else 1)
    if not step.asked:
        space = ""
    elif answers:
        space = (f"<ul>{options}</ul>" if options else "") + f'<p class="answer">{html.escape(step.answer)}</p>'
    return f"<section><h2>Step {step.number}</h2>{told}{asked}{space}</section>"
