"""Runs take turns (see `model_queue`); who has to wait is told how long the line is."""

import contextlib
import functools
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from headlight.app import results
from headlight.app.batches import traces
from headlight.app.results import TranslationRequest

Part = TypeVar("Part")
Result = TypeVar("Result")
Task = Callable[[], Iterator[None]]  # a generator function: others may go first wherever it yields
_SOON = 0.5  # seconds until a slow task waits for its turn
_DONE = "slow_task_done"  # in the session: the visitor's last
_QUICK_PARTS = 3  # done before anyone reads a progress bar


@contextlib.contextmanager
def in_turn(place: DeltaGenerator, request: TranslationRequest) -> Iterator[None]:
    """Within the block it is this visitor's turn, who will ask for the request's translation.

    `place` says how many are ahead, where that takes long enough to read it.
    """

    def tell(ahead: int) -> None:
        others = "One other visitor is" if ahead == 1 else f"{ahead} other visitors are"
        text = f"{others} ahead of you: the server takes one after the other."
        place.info(text, icon=":material/hourglass_top:") if ahead else place.empty()

    with results.queue.turn(results.greedy_request(traces, request), tell):
        yield


def fragment(function: Callable[..., None], run_every: float | None = None) -> Callable[..., None]:
    """A part of the page that runs by itself, as from `st.fragment`, and takes turns with all other runs."""

    @functools.wraps(function)
    def run(*given: object) -> None:
        with results.queue.turn():
            function(*given)

    return st.fragment(run, run_every=run_every)


def is_there(request: Hashable, task: Task, words: str) -> bool:
    """Whether the caches have what `task` computes; where others wait for their translations, it comes after them.

    Meanwhile the page says so, `words` first, and is drawn anew once it is there. What fails counts as done: the page
    meets the failure when it needs the result.
    """
    if st.session_state.get(_DONE) == request:
        return True
    if results.queue.is_calm():
        _do(request, task)
        return True

    def wait() -> None:
        text = f"{words} takes longer than a translation. It follows by itself, after the translations that other "
        st.info(f"{text}visitors wait for.", icon=":material/hourglass_top:")
        if not results.queue.has_turn():  # the page is there, and this runs again by itself
            with results.queue.turn(tell=lambda ahead: st.session_state.get(_DONE), slow=True):  # ends if he moves on
                _do(request, task)
            st.rerun()

    st.fragment(wait, run_every=_SOON)()
    return False


def _do(request: Hashable, task: Task) -> None:
    """Do a task, the turns of others between its parts."""
    with contextlib.suppress(Exception):
        for _ in task():
            results.queue.submit()
    st.session_state[_DONE] = request


def part_by_part(parts: Sequence[Part], compute: Callable[[Part], Result], words: str) -> list[Result]:
    """What a cached function makes of each part, the turns of others in between, with a bar where they are many.

    `words` say what goes on.
    """
    place, done = st.empty(), []
    for number, part in enumerate(parts):
        if len(parts) > _QUICK_PARTS:
            place.progress(number / len(parts), words)
        results.queue.submit()
        done.append(compute(part))
    place.empty()
    return done
