"""A toy training on a page: its start, its place in line, its numbers, its end."""

import streamlit as st

from headlight.app import results, url_state
from headlight.app.choices import slider
from headlight.app.widgets import plain
from headlight.plots.text import percent
from transformer.errors import BusyError
from transformer.toy.jobs import JobView
from transformer.toy.settings import ToySettings

from .live_text import exact_match_text, state_text, time_left_text

SECONDS = 1.0  # between two looks at a training under way
_OWN = "own_trainings"  # in the session: those that this user started last
_ASKED = "training_asked_for"
_ICONS = {
    "done": ":material/check_circle:",
    "waiting": ":material/hourglass_top:",
    "running": ":material/model_training:",
}


def seed() -> int:
    """A choice of seed, shared by the views; a box for a number would break on a link that says "inf"."""
    explanation = "Of the first weights and of all sequences: the same seed gives the same run."
    return slider("Seed", 1, 20, "toy_seed", explanation=explanation, width=200)


def show_state(view: JobView) -> None:
    """One sentence on where the run stands."""
    learned = view.state == "done" and view.status.end == "goal"
    (st.success if learned else st.info)(plain(state_text(view)), icon=_ICONS.get(view.state, ":material/stop_circle:"))


def show_numbers(view: JobView) -> None:
    """Updates, loss, exact match, and the time: while it goes on, how long that may still be."""
    status, settings = view.status, view.settings
    if status is None:
        return
    with st.container(horizontal=True, gap="medium"):
        st.metric("Update", f"{status.update:,}", width="content", help=f"of at most {settings.max_updates:,}")
        loss = "—" if status.loss is None else f"{status.loss:.3f}"
        st.metric("Loss", loss, width="content", help="Cross-entropy in nats a token, mean of the last five updates")
        help = f"Share of {status.measured} held-out sequences that are written entirely right"
        st.metric("Exact match", exact_match_text(status), width="content", help=help)
        if view.active:
            help = f"Until the limit of updates; it ends as soon as {percent(settings.goal)} are right"
            st.metric("Time left, at most", time_left_text(status, settings), width="content", help=help)
        else:
            st.metric("Time", f"{status.seconds:.0f} s", width="content")


def start_button(label: str, disabled: bool) -> bool:
    """The button that starts; true in the run that its click leads to, even where that run has to begin anew."""
    st.button(label, type="primary", icon=":material/play_arrow:", disabled=disabled, on_click=_ask)
    return st.session_state.pop(_ASKED, False) and not disabled


def start(key: str, *trainings: ToySettings) -> bool:
    """Put a view's trainings in line and remember them in the address; where the line is full, only say so: False.

    The user's earlier ones are stopped. Others that the address had may be someone else's, who sent the link: they
    go on as long as that someone looks at them.
    """
    jobs = results.jobs()
    try:
        names = jobs.submit(*trainings)
    except BusyError as error:
        st.warning(plain(str(error)), icon=":material/hourglass_top:")
        return False
    for name in st.session_state.get(_OWN, []):
        jobs.stop(name)
    for name in started(key):
        jobs.leave(name)
    st.session_state[_OWN] = names
    url_state.write(key, ",".join(names))
    return True


def stop(key: str) -> None:
    """Stop the trainings of a view; what they have so far stays."""
    for name in started(key):
        results.jobs().stop(name)


def started(key: str) -> list[str]:
    """The names of the view's trainings, as the address has them; empty when none was started."""
    return [name for name in url_state.read(key).split(",") if name]


def _ask() -> None:
    st.session_state[_ASKED] = True
