"""A class as a whole: a table of its rounds, the answers as a file, and its end."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import streamlit as st

import headlight.plots as plots
from headlight.app.errors import error_text
from headlight.app.statics import style
from headlight.app.widgets import offer_download, plain, show_figure, show_table
from headlight.classroom import ClassError, Kind, Round, Tally, Teacher
from headlight.components.show import classes_kept

from ..gain import QuizResult, quiz_result, read_answers, summary_words
from ..quiz_bank import bank, fill
from ..words import phrase
from . import desk

_say = partial(phrase, "summary")

STYLE = Path(__file__).with_name("summary.css")
HEADER = ("question", "answers", "chosen", "right", "time")  # columns of the table, by their words


def show_class() -> bool:
    """Show this teacher's class and return True; without a class, show its uses and earlier classes."""
    code = desk.code_in_address()
    try:
        teacher = desk.leading(code)
        if teacher is not None:
            _show(teacher)
            return True
    except ClassError as error:
        st.warning(plain(error_text(error)))
        return True
    st.markdown(_say("use"))
    classes_kept(desk.ended_codes(), "classes_kept", on_choice=desk.go_on)
    return False


def _show(teacher: Teacher) -> None:
    """Show a class that is led here. Raises ClassError."""
    classroom = teacher.look().classroom
    rounds = [each for each in classroom.rounds if not each.discarded]
    tallies = [teacher.tally(each.number) for each in rounds]
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.markdown(_say("class", code=teacher.code), width="content")
        offer_download(_say("csv"), lambda: _csv(teacher), f"class-{teacher.code}.csv", "text/csv")
        with st.popover(_say("end"), icon=":material/delete:"):
            st.markdown(_say("ends"))
            st.button(_say("delete"), key="end_class", type="primary", on_click=desk.end, args=(teacher,))
    if not rounds:
        st.markdown(_say("nothing"))
        return
    names = [(str(each.number), cells_of(each, tally)) for each, tally in zip(rounds, tallies, strict=True)]
    st.html(style(STYLE))
    if any(each.quiz for each in rounds):
        _show_quizzes(teacher, rounds, tallies)  # first: while presenting a figure gets the room that is left
    with st.container(key="class_rounds"):
        show_table(_say("title"), _say("round"), [*map(_say, HEADER)], names)


def _show_quizzes(teacher: Teacher, rounds: Sequence[Round], tallies: Sequence[Tally]) -> None:
    """Show the gain from the quiz before to the quiz after, and the picture of both."""
    answers = read_answers([teacher.csv()])
    result = quiz_result(answers)
    st.markdown(plain(summary_words(result, answers)))
    if result:
        shown = [*quiz_bars(result), *vote_bars(rounds, tallies)]
        show_figure(plots.quiz(shown, theme="page"), "class_quiz", bank()["picture"]["title"])


def quiz_bars(result: QuizResult) -> Iterator[tuple[str, str, str, float, float]]:
    """Yield the bars of the picture: of each idea, and below it the chosen options of its items."""
    labels, right = {item["name"]: item["label"] for item in bank()["item"]}, bank()["picture"]["right"]
    names = bank()["misconceptions"] | {"": {"says": right, "short": ""}}
    for idea, change in result.ideas.items():
        yield (f"<b>{bank()['ideas'].get(idea, idea)}</b>", right, "", change.before, change.after)
        for item in result.items.index[result.items.idea == idea]:
            counts = result.chosen.loc[item]
            shares = (counts / counts.sum().clip(lower=1)).reindex(sorted({"", *counts.index}), fill_value=0.0)
            for name, before, after in shares.itertuples():
                yield (labels.get(item, item), names[name]["says"], names[name]["short"], before, after)


def vote_bars(rounds: Sequence[Round], tallies: Sequence[Tally]) -> Iterator[tuple[str, str, str, float, float]]:
    """Yield a bar for each question with a right answer that was asked twice: the first and the last vote."""
    votes: dict[tuple[object, str], list[float]] = {}
    for each, tally in zip(rounds, tallies, strict=True):
        if tally.right is not None and tally.answered:
            votes.setdefault((each.question, each.step), []).append(tally.right / tally.answered)
    for (_, step), shares in votes.items():
        if len(shares) > 1:
            label = fill(bank()["picture"]["vote"], step=step)
            yield (label, bank()["picture"]["right"], "", shares[0], shares[-1])


def _csv(teacher: Teacher) -> bytes:
    try:
        return teacher.csv()
    except ClassError as error:
        return str(error).encode()


def cells_of(closed: Round, tally: Tally) -> Sequence[str]:
    """Return a round's cells in the table, as HEADER has them."""
    right = "" if tally.right is None else _say("right_of", right=tally.right, answered=tally.answered)
    seconds = "" if closed.closed is None else f"{max(0.0, closed.closed - closed.opened):.0f} s"
    return (closed.question.text, str(tally.answered), _chosen(closed, tally), right, seconds)


def _chosen(closed: Round, tally: Tally) -> str:
    """Return the counts of options, the right ones marked; of numbers the median, the range and the right one."""
    question, truth = closed.question, closed.truth
    if question.kind == Kind.NUMBER:
        if not tally.numbers:
            return ""
        low, middle, high = (tally.numbers[at] for at in (0, len(tally.numbers) // 2, -1))
        right = "" if truth.value is None else "\n" + _say("right_number", number=truth.value)
        return _say("numbers", low=low, middle=middle, high=high) + right
    return "\n".join(
        f"{'✓ ' if at in truth.right else ''}{label}: {count}"
        for at, (label, count) in enumerate(zip(question.options, tally.counts, strict=True))
    )
