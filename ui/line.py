"""Runs take turns (see `session.turns`); who has to wait is told how long the line is."""

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

import session
from session import Choice

Part, Result = TypeVar("Part"), TypeVar("Result")
_QUICK_PARTS = 3  # done before anyone reads a progress bar


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


def part_by_part(parts: Sequence[Part], compute: Callable[[Part], Result], words: str) -> list[Result]:
    """What a cached function makes of each part, the turns of others in between, with a bar where they are many.

    `words` say what goes on.
    """
    place, done = st.empty(), []
    for number, part in enumerate(parts):
        if len(parts) > _QUICK_PARTS:
            place.progress(number / len(parts), words)
        session.turns.let_others_go_first()
        done.append(compute(part))
    place.empty()
    return done
