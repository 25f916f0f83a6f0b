"""The view that trains a small model while the user watches, on a task that everyone can check."""

import streamlit as st

from headlight.app import results
from headlight.app.choices import one_of, slider
from headlight.app.head_choice import Head, take_head
from headlight.app.line import fragment
from headlight.app.results import Choice
from headlight.app.widgets import plain, show_finding
from headlight.plots.text import counted, head_name, sentence_case
from transformer import UserError
from transformer.toy.jobs import JobView
from transformer.toy.settings import ToySettings
from transformer.toy.tasks import SYMBOLS, Task

from . import live_run
from .live_text import best_reader, model_text, reading_story, task_text
from .replay import show_replay

_JOB = "job"
_ANSWERS = {Task.COPY: "its copy", Task.REVERSE: "its reverse", Task.SORT: "it sorted"}


def show(choice: Choice) -> None:
    """Task, model and seed; the start; and the training as it goes. Raises UserError."""
    names = live_run.started(_JOB)
    settings = None
    try:
        settings = _settings(unfolded=not names)
    except UserError as error:  # a training under way goes on below
        st.warning(plain(str(error)), icon=":material/edit:")
    with st.container(horizontal=True, gap="small"):
        begin = live_run.start_button("Start training", disabled=settings is None)
        end = st.container(width="content")  # the button to stop, once there is something to stop
    if begin and live_run.start(_JOB, settings):
        st.rerun()  # the settings fold up
    if not names:
        if settings:
            st.info(
                "A small Transformer, all of its weights random at the start, learns to **copy**, **reverse** or "
                "**sort** a sequence of symbols. It sees new random sequences in every update, and is measured on "
                "others that it never sees. Most settings need less than half a minute.\n\n"
                f"This would train {plain(task_text(settings))}. **Press start** and watch the cross-attention: when "
                "the loss falls, does a path through the map appear, and in which head?",
                icon=":material/search:",
            )
        return
    view = results.jobs().look(names[0])
    if view is None:
        text = "This training's time is up, its results are no longer kept. Start it again."
        st.info(text, icon=":material/history:")
        return
    if view.active:
        end.button("Stop", on_click=live_run.stop, args=[_JOB], icon=":material/stop:")
        fragment(_follow, run_every=live_run.SECONDS)(names[0])
    else:
        _show_run(names[0], view)


def _settings(unfolded: bool) -> ToySettings:
    """What the user chose; raises ConfigError for what cannot be. Once a training is there, it has the room."""
    folder = st.expander("Task, model and seed", expanded=unfolded)
    with folder, st.container(horizontal=True, gap="medium"):
        task = one_of("Task", tuple(task.value for task in Task), "task")
        symbols = one_of("Symbols", tuple(SYMBOLS), "symbols")
        most = len(SYMBOLS[symbols])
        vocabulary = slider(f"Number of {symbols}", 2, most, f"number_of_{symbols}", width=200)
        length = slider("Length", 2, 20, "symbols_long", width=200)
    with folder, st.container(horizontal=True, gap="medium"):
        d_model = one_of("d_model", ("32", "64", "128"), "toy_width")
        layers = one_of("Layers, in encoder and decoder each", ("1", "2", "3"), "toy_layers")
        heads = one_of("Heads", ("1", "2", "4", "8"), "toy_heads")
        norm = one_of("LayerNorm", ("pre", "post"), "toy_norm")
        seed = live_run.seed()
    return ToySettings(task, symbols, vocabulary, length, int(d_model), int(layers), int(heads), norm, seed=seed)


def _follow(name: str) -> None:
    """A fragment that looks again and again; when there is nothing to wait for any more, the page is drawn anew."""
    view = results.jobs().look(name)
    if view is None or not view.active:
        st.rerun()
    _show_run(name, view)


def _show_run(name: str, view: JobView) -> None:
    settings = view.settings
    live_run.show_numbers(view)
    replay, place = view.replay, st.container()
    live_run.show_state(view)
    units = counted(settings.model_config().d_ff, "hidden unit")
    what = f"{sentence_case(task_text(settings))}. {model_text(settings)}; {units}; Adam, 32 new sequences an update."
    st.caption(plain(what))
    if replay is None:
        return
    positions = settings.task.positions(replay.trajectories[0].source_text.split())
    reader = best_reader(replay, positions)
    with place:  # the loss and the map come first, then what is to be seen in them
        show_replay(replay, name, ("the sequence", _ANSWERS[settings.task]), following=True, reader=reader)
    show_finding(reading_story(replay, positions))
    label = f"Show {head_name(*reader, settings.num_layers, settings.num_heads)} of the cross-attention"
    st.button(label, on_click=take_head, args=[Head("cross", *reader)], icon=":material/grid_view:", key="reader_shown")
