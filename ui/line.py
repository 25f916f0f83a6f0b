"""Runs take turns (see `session.turns`); who has to wait is told how long the line is."""

import contextlib
import functools
from collections.abc import Callable, Iterator

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

import session
from session import Choice


@contextlib.contextmanager
def in_turn(place: DeltaGenerator, choice: Choice) -> Iterator[None]:
    """Within the block it is this visitor's turn, who will ask for the translation of `choice`.

    `place` says how many are ahead, where that takes long enough to read it.
    """
    told = False

    def tell(ahead: int) -> None:
        nonlocal told
        told = True
        others = "One other visitor is" if ahead == 1 else f"{ahead} other visitors are"
        place.info(f"{others} ahead of you: the server takes one after the other.", icon=":material/hourglass_top:")

    with session.turns.turn(choice, tell):
        if told:
            place.empty()
        yield


def fragment(function: Callable[..., None], run_every: float | None = None) -> Callable[..., None]:
    """A part of the page that runs by itself, as from `st.fragment`, and takes turns with all other runs."""

    @functools.wraps(function)
    def run(*given: object) -> None:
        with session.turns.turn():
            function(*given)

    return st.fragment(run, run_every=run_every)
