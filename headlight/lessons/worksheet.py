"""A lesson on paper: one HTML file to print on A4, without the answers or with them."""

import html
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from .file import Lesson
from .overview import StepSummary, about_words
from .words import phrase

_say = partial(phrase, "worksheet")

_STYLE = Path(__file__).with_name("worksheet.css").read_text(encoding="utf-8")
_LINES = 3


def worksheet(lesson: Lesson, steps: Sequence[StepSummary], *, answers: bool) -> str:
    """Return the worksheet of a lesson as an HTML page; every text in it is escaped."""
    parts = "".join(_section(step, answers=answers) for step in steps)
    name = "" if answers else f'<p class="name">{_say("name")} <span></span> {_say("date")} <span></span></p>'
    title = html.escape(_say("answers", title=lesson.title) if answers else lesson.title)
    goal = html.escape(_say("goal", goal=lesson.goal, minutes=lesson.minutes))
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
        f"<body><h1>{title}</h1><p>{goal}</p>"
        f"<p>{html.escape(about_words(steps))}</p>{name}{parts}</body></html>"
    )


def _section(step: StepSummary, *, answers: bool) -> str:
    parts = [f'<p class="where">{html.escape(step.page)} · {html.escape(step.sentence)}</p>']
    parts.append(f"<p>{html.escape(step.say)}</p>")
    options = "".join(f"<li>{html.escape(option)}</li>" for option in step.options)
    if step.ask:
        parts.append(f'<p class="ask">{html.escape(step.ask)}</p>')
        if options:
            parts.append(f"<ul>{options}</ul>")
        if answers:
            parts.append(f'<p class="answer">{html.escape(step.answer)}</p>')
        elif not options:
            parts.append('<div class="line"></div>' * (_LINES if step.kind == "note" else 1))
    heading = _say("step", number=step.number)
    return f"<section><h2>{heading}</h2>{''.join(parts)}</section>"
