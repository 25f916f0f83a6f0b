"""Destination of the next run: a lesson's step."""

from dataclasses import dataclass

import streamlit as st

_STEP = "lesson_going"  # key of the session


@dataclass(frozen=True)
class Destination:
    """A lesson's step, from 0, with its answer `shown` or not; `begins`: the lesson begins there.

    text, checkpoint: of the bar, "" for the present ones.
    """

    name: str
    step: int
    shown: bool = False
    text: str = ""
    checkpoint: str = ""
    begins: bool = False


def go_to(destination: Destination) -> None:
    """Go to a lesson's step with the next run."""
    st.session_state[_STEP] = destination


def take() -> Destination | None:
    """Return the destination of this run, once."""
    return st.session_state.pop(_STEP, None)
