"""Destinations of the next run: a lesson's step, or the page of lessons."""

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

_STEP, _LIST = "lesson_going", "lesson_to_list"  # keys of the session


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


def go_to_list(values: Mapping[str, str]) -> None:
    """Go to the page of lessons, with these values in its address."""
    st.session_state[_LIST] = values


def take() -> tuple[Destination | None, Mapping[str, str] | None]:
    """Return the destination of this run, once: the address of the page of lessons, or else a step."""
    if _LIST in st.session_state:
        return None, st.session_state.pop(_LIST)
    return st.session_state.pop(_STEP, None), None
