"""Runs take turns (see `results.turns`); who has to wait is told how long the line is."""

import contextlib
import functools
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import get_script_run_ctx

from headlight.app import results
from headlight.app.results import Choice
from headlight.app.results.afterwards import Task
from headlight.app.results.turn_taking import Wish
from headlight.plots.text import counted

from .url_state import asked, default_of

Part, Result = TypeVar("Part"), TypeVar("Result")
_READS_EARLY_LAYERS = "early layers"  # the view
_LOOK = 2.0  # seconds between two looks whether it is there
_LATER = 0.05  # seconds more for each task that is ahead: three hundred pages that look are work too
_QUICK_PARTS = 3  # done before anyone reads a progress bar


def wish(page: str, choice: Choice) -> Wish:
    """What the page in the address will ask for."""
    view = asked("why").get("why", default_of("why"))
    return Wish(choice, early_layers=page == "why" and view == _READS_EARLY_LAYERS)


@contextlib.contextmanager
def in_turn(place: DeltaGenerator, wish: Wish) -> Iterator[None]:
    """Within the block it is this visitor's turn, who will ask for `wish`.

    `place` says how many are ahead, where that takes long enough to read it.
    """
    told = False

    def tell(ahead: int) -> None:
        nonlocal told
        told = True
        others = "One other visitor is" if ahead == 1 else f"{ahead} other visitors are"
        place.info(f"{others} ahead of you: the server takes one after the other.", icon=":material/hourglass_top:")

    with results.turns.turn(wish, tell):
        if told:
            place.empty()
        yield


def fragment(function: Callable[..., None], run_every: float | None = None) -> Callable[..., None]:
    """A part of the page that runs by itself, as from `st.fragment`, and takes turns with all other runs."""

    @functools.wraps(function)
    def run(*given: object) -> None:
        with results.turns.turn():
            function(*given)

    return st.fragment(run, run_every=run_every)


def is_there(request: Hashable, task: Task, words: str) -> bool:
    """Whether the caches have what `task` computes; where others wait for their translations, it comes after them.

    Meanwhile the page says so, `words` first, and is drawn anew once it is there.
    """
    visitor = _visitor()
    if results.long_tasks.is_done(visitor, request, task):
        return True
    every = max(_LOOK, _LATER * results.long_tasks.ahead(visitor))

    def look() -> None:
        if results.long_tasks.is_done(visitor, request, task, at_once=False, seconds=3 * every):
            st.rerun()
        ahead = results.long_tasks.ahead(visitor)
        tasks = f"{counted(ahead, 'task')} like it and " if ahead else ""
        text = f"{words} takes longer than a translation. It follows by itself, after {tasks}the translations that "
        st.info(f"{text}other visitors wait for.", icon=":material/hourglass_top:")

    st.fragment(look, run_every=every)()
    return False


def _visitor() -> str:
    context = get_script_run_ctx()
    return context.session_id if context else ""


def part_by_part(parts: Sequence[Part], compute: Callable[[Part], Result], words: str) -> list[Result]:
    """What a cached function makes of each part, the turns of others in between, with a bar where they are many.

    `words` say what goes on.
    """
    place, done = st.empty(), []
    for number, part in enumerate(parts):
        if len(parts) > _QUICK_PARTS:
            place.progress(number / len(parts), words)
        results.turns.let_others_go_first()
        done.append(compute(part))
    place.empty()
    return done
