"""The view of a small model in training, and its parts that the view of two runs shares."""

from collections.abc import Sequence

import streamlit as st

from headlight.app import state
from headlight.app.choices import one_of, slider
from headlight.app.errors import error_text
from headlight.app.finding import Templates
from headlight.app.head_choice import take_head
from headlight.app.model_queue import fragment
from headlight.app.results import TranslationRequest, training_runs
from headlight.app.widgets import plain
from headlight.plots.names import sentence_case
from transformer import UserError
from transformer.config import Norm
from transformer.errors import BusyError
from transformer.interpret.head_patterns import best_reader
from transformer.model.heads import Head
from transformer.model.names import AttentionKind
from transformer.toy.jobs import JobView
from transformer.toy.settings import SYMBOLS, Task, ToySettings
from transformer.training import TrainingReplay

from .live_content import (
    best_reader_words,
    exact_match_text,
    model_text,
    reading_story,
    state_text,
    task_text,
    time_left_text,
)
from .replay import Live, show_replay

SECONDS = 1.0  # between two looks at a training under way
PINNED_FROM = 5  # updates, after which the head that is shown large stays
_STARTED = "started_trainings"  # in the session: the visitor's last ones
_CLICKED = "clicked_start"  # in the session: the label of the button
_ICONS = {
    "done": ":material/check_circle:",
    "waiting": ":material/hourglass_top:",
    "running": ":material/model_training:",
}

_JOB = "job"
TEMPLATES = Templates.beside(__file__)


def show(request: TranslationRequest) -> None:
    """Show task, model and seed; the start; and the training as it goes. Raises UserError."""
    names, settings, message = started(_JOB), None, ""
    view = training_runs.jobs().look(names[0]) if names else None
    above = st.container()
    with st.container(horizontal=True, gap="small", key="run_row"):
        buttons = st.container(horizontal=True, gap="small", width="content")
        try:
            settings = _settings()
        except UserError as error:  # a training under way goes on below
            message = error_text(error)
    if message:
        st.warning(plain(message), icon=":material/edit:")
    with buttons:
        active, disabled = view is not None and view.active, settings is None
        labels = TEMPLATES.text("start"), TEMPLATES.text("stop")
        begin = run_buttons(_JOB, *labels, active=active, disabled=disabled)
    if begin and settings and start(_JOB, settings):
        st.rerun()
    if not names:
        if settings:
            above.markdown(TEMPLATES.text("intro", task=plain(task_text(settings))))
        return
    if view is None:
        st.info(TEMPLATES.text("over"), icon=":material/history:")
        return
    if active:
        fragment(_follow, run_every=SECONDS)(names[0])
    else:
        _show_run(names[0], view)


def _settings() -> ToySettings:
    """Show the settings, folded, and return them. Raises ConfigError for invalid ones."""
    folder = st.expander(TEMPLATES.text("settings"))
    with folder, st.container(horizontal=True, gap="medium"):
        task = one_of(tuple(task.value for task in Task), "task")
        symbols = one_of(tuple(SYMBOLS), "symbols")
        vocabulary = slider(f"number_of_{symbols}", (2, len(SYMBOLS[symbols])), width=200)
        length = slider("symbols_long", width=200)
    with folder, st.container(horizontal=True, gap="medium"):
        d_model = one_of(("32", "64", "128"), "toy_width")
        layers = one_of(("1", "2", "3"), "toy_layers")
        heads = one_of(("1", "2", "4", "8"), "toy_heads")
        norm = one_of(("pre", "post"), "toy_norm")
        seed = choose_seed()
    return ToySettings(
        task=Task(task),
        symbols=symbols,
        vocabulary=vocabulary,
        length=length,
        d_model=int(d_model),
        num_layers=int(layers),
        num_heads=int(heads),
        norm=Norm(norm),
        seed=seed,
    )


def _follow(name: str) -> None:
    """Show the run of a fragment that repeats; rerun the page once the training has ended."""
    view = training_runs.jobs().look(name)
    if view is None or not view.active:
        st.rerun()
    _show_run(name, view)


def _show_run(name: str, view: JobView) -> None:
    settings = view.settings
    show_numbers(view)
    replay, above = view.replay, st.container()
    show_state(view)
    facts = {"task": sentence_case(task_text(settings)), "model": model_text(settings)}
    st.caption(plain(TEMPLATES.text("model", **facts, units=settings.model_config().d_ff)))
    if replay is None:
        return
    positions = settings.task.positions(replay.trajectories[0].source_text.split())
    best = best_reader(replay.trajectories[0].cross[-1], positions)
    live = Live(
        first=_pinned_head(name, view.active, replay, positions),
        best=best,
        best_words=best_reader_words(replay, positions),
        finding=reading_story(replay, positions),
    )
    with above:  # the loss and the map come first, then what is to be seen in them
        show_replay(replay, name, (TEMPLATES.text("sequence"), TEMPLATES.text(f"answer_{settings.task}")), live)
    head = Head(AttentionKind.CROSS, *best)
    label, icon = TEMPLATES.text("show_reader", head=head), ":material/grid_view:"
    st.button(label, on_click=take_head, args=[head], icon=icon, key="reader_shown")


def _pinned_head(name: str, active: bool, replay: TrainingReplay, positions: Sequence[set[int]]) -> tuple[int, int]:
    """Return the head of the large map: of a training under way the best one soon after the beginning, and no other.

    Ties between heads change from update to update: a map that followed them would change its head each second. Of a
    finished training it is the best head at the end.
    """
    key, cross, steps = f"pinned_{name}", replay.trajectories[0].cross, replay.steps
    if key in st.session_state:
        return st.session_state[key]
    at = int((steps >= PINNED_FROM).argmax()) if active else len(steps) - 1
    head = best_reader(cross[at], positions)
    if steps[-1] >= PINNED_FROM:
        st.session_state[key] = head
    return head


def choose_seed() -> int:
    """Show the choice of a seed, shared by the views; a number box would break on a link that says "inf"."""
    return slider("toy_seed", width=200)


def show_state(view: JobView) -> None:
    """Show the state of a run."""
    learned = view.state == "done" and view.status is not None and view.status.end == "goal"
    (st.success if learned else st.info)(plain(state_text(view)), icon=_ICONS.get(view.state, ":material/stop_circle:"))


def show_numbers(view: JobView) -> None:
    """Show updates, loss, exact match, and the time, of a training under way the time left."""
    status, settings = view.status, view.settings
    if status is None:
        return
    with st.container(horizontal=True, gap="medium"):
        helps = {"most": settings.max_updates, "measured": status.measured, "goal": settings.goal}
        values = {
            "update": f"{status.update:,}",
            "loss": "—" if status.loss is None else f"{status.loss:.3f}",
            "exact_match": exact_match_text(status),
        }
        if view.active:
            values["time_left"] = time_left_text(status, settings)
        for name, value in values.items():
            st.metric(TEMPLATES.text(name), value, width="content", help=TEMPLATES.text(f"{name}_help", **helps))
        if not view.active:
            st.metric(TEMPLATES.text("time"), f"{status.seconds:.0f} s", width="content")


def run_buttons(key: str, start_label: str, stop_label: str, *, active: bool, disabled: bool) -> bool:
    """Show the start button; while a training is `active` the stop button, and the start in a popover.

    Return True in the run after a click on start, even if that run has to begin anew.
    """
    if not active:
        return _start_button(start_label, disabled=disabled)
    st.button(stop_label, type="primary", on_click=stop, args=[key], icon=":material/stop:")
    with st.popover(TEMPLATES.text("again")):
        st.markdown(TEMPLATES.text("leaves"))
        return _start_button(TEMPLATES.text("leave"), disabled=disabled)


def _start_button(label: str, *, disabled: bool) -> bool:
    st.button(
        label, type="primary", icon=":material/play_arrow:", disabled=disabled, on_click=_remember_click, args=[label]
    )
    return st.session_state.pop(_CLICKED, "") == label and not disabled  # a late click on a button that went is none


def start(key: str, *trainings: ToySettings) -> bool:
    """Queue a view's trainings and write them into the address; warn and return False where the queue is full.

    The visitor's earlier trainings are stopped. Others in the address may belong to the sender of the link: they go on
    as long as the sender looks at them.
    """
    jobs = training_runs.jobs()
    try:
        names = jobs.submit(*trainings)
    except BusyError as error:
        st.warning(plain(error_text(error)), icon=":material/hourglass_top:")
        return False
    for name in st.session_state.get(_STARTED, []):
        jobs.stop(name)
    for name in started(key):
        jobs.leave(name)
    st.session_state[_STARTED] = names
    state.go(**{key: ",".join(names)})
    return True


def stop(key: str) -> None:
    """Stop the trainings of a view; their results so far stay."""
    for name in started(key):
        training_runs.jobs().stop(name)


def started(key: str) -> list[str]:
    """Return the names of the view's trainings from the address; empty if none was started."""
    return [name for name in state.value(key).split(",") if name]


def _remember_click(label: str) -> None:
    st.session_state[_CLICKED] = label
