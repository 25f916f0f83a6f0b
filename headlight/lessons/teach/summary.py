"""A class as a whole: its way in, all that was asked of it in one table, the answers as a file, and its end."""

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from headlight.app.statics import style
from headlight.app.widgets import offer_download, plain, show_table
from headlight.classroom import ClassError, Kind, Round, Tally, Teacher
from headlight.components.show import classes_kept

from ..answer import number_words
from . import desk

STYLE = Path(__file__).with_name("summary.css")
HEADER = ("question", "answers", "chosen", "right", "open for")


def show_class() -> bool:
    """Show this teacher's class and return True; without a class, show its uses and earlier classes."""
    code = desk.code_in_address()
    try:
        teacher = desk.leading(code)
        if teacher is not None:
            _show(teacher)
            return True
    except ClassError as error:
        st.warning(plain(str(error)))
        return True
    st.markdown(
        "Students answer on their phones, with a code and without an account. You see how many have answered, show "
        "the histogram, ask again, and reveal what the model does."
    )
    classes_kept(desk.ended_codes(), "classes_kept", on_choice=desk.go_on)
    return False


def _show(teacher: Teacher) -> None:
    """Show a class that is led here. Raises ClassError."""
    classroom = teacher.look().classroom
    rounds = [each for each in classroom.rounds if not each.discarded]
    tallies = [teacher.tally(each.number) for each in rounds]
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.markdown(f"**Class {teacher.code}**", width="content")
        offer_download("Answers as CSV", lambda: _csv(teacher), f"class-{teacher.code}.csv", "text/csv")
        with st.popover("End the class", icon=":material/delete:"):
            st.markdown("This deletes the class and every answer, for good. Take the answers as CSV before.")
            st.button("Delete it now", key="end_class", type="primary", on_click=desk.end, args=(teacher,))
    if not rounds:
        st.markdown("Nothing has been asked yet.")
        return
    names = [(str(each.number), cells_of(each, tally)) for each, tally in zip(rounds, tallies, strict=True)]
    st.html(style(STYLE))
    with st.container(key="class_rounds"):
        show_table("What was asked of the class", "round", HEADER, names)


def _csv(teacher: Teacher) -> bytes:
    try:
        return teacher.csv()
    except ClassError as error:
        return str(error).encode()


def cells_of(asked: Round, tally: Tally) -> Sequence[str]:
    """Return a round's cells in the table, as HEADER has them."""
    right = "" if tally.right is None else f"{tally.right} of {tally.answered}"
    seconds = "" if asked.closed is None else f"{max(0.0, asked.closed - asked.asked):.0f} s"
    return (asked.question.text, str(tally.answered), chosen(asked, tally), right, seconds)


def chosen(asked: Round, tally: Tally) -> str:
    """Return what was chosen how often, the right options marked; of numbers the middle one and their range."""
    if asked.question.kind == Kind.NUMBER:
        if not tally.numbers:
            return ""
        low, high = number_words(tally.numbers[0]), number_words(tally.numbers[-1])
        middle = number_words(tally.numbers[len(tally.numbers) // 2])
        right = "" if asked.truth.value is None else f"; right is {number_words(asked.truth.value)}"
        return f"{low} to {high}, the middle one {middle}{right}"
    marks = ["✓ " if at in asked.truth.right else "" for at in range(len(asked.question.options))]
    labelled = zip(marks, asked.question.options, tally.counts, strict=True)
    return " · ".join(f"{mark}{label}: {count}" for mark, label, count in labelled)
