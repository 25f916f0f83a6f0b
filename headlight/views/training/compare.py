"""The view of two trainings that differ in one hyperparameter, in one figure."""

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import streamlit as st

import headlight.plots as plots
from headlight.app.choices import one_of, option_label
from headlight.app.finding import Templates
from headlight.app.model_queue import fragment
from headlight.app.results import TranslationRequest, training_runs
from headlight.app.widgets import plain, show_figure, show_finding
from headlight.language import texts_of
from headlight.plots.names import sentence_case
from transformer.config import Norm
from transformer.toy.jobs import JobView
from transformer.toy.settings import Task, ToySettings
from transformer.untrusted import read_toml

from . import live
from .live_content import comparison, model_text, state_text, task_text

_JOBS = "jobs"
TEMPLATES = Templates.beside(__file__)
_MOST_UPDATES = 1000  # a run that learns nothing ends in the time of some patience


@dataclass(frozen=True)
class Hyperparameter:
    """A setting to compare: the field it sets, and its values by their names."""

    field: str
    values: dict[str, Any]


_FILE = Path(__file__).with_name("hyperparameters.toml")
HYPERPARAMETERS = {
    name: Hyperparameter(content["field"], content["values"]) for name, content in read_toml(_FILE).items()
}


def show(request: TranslationRequest) -> None:
    """Show the hyperparameter, its two values, the start, and both runs as they go. Raises UserError."""
    st.markdown(TEMPLATES.text("intro"))
    hyperparameter = HYPERPARAMETERS[name := one_of(tuple(HYPERPARAMETERS), "hyperparameter")]
    values = tuple(hyperparameter.values)
    with st.container(horizontal=True, gap="medium"):
        first, second = (one_of(values, f"{run}_{hyperparameter.field}") for run in ("first", "second"))
    with st.container(horizontal=True, gap="medium"):
        task = one_of(tuple(task.value for task in Task), "task")
        norm = one_of(("pre", "post"), "toy_norm") if hyperparameter.field != "norm" else "pre"
        seed = live.choose_seed()
    st.caption(plain(texts_of(_FILE)[name]["question"]))
    base = ToySettings(task=Task(task), norm=Norm(norm), seed=seed, max_updates=_MOST_UPDATES)
    runs = [replace(base, **{hyperparameter.field: hyperparameter.values[name]}) for name in (first, second)]
    names = live.started(_JOBS)
    views = [training_runs.jobs().look(name) for name in names[:2]]
    active = any(view is not None and view.active for view in views)
    with st.container(horizontal=True, gap="small"):
        labels = TEMPLATES.text("start"), TEMPLATES.text("stop")
        begin = live.run_buttons(_JOBS, *labels, active=active, disabled=first == second)
    if first == second:
        st.info(TEMPLATES.text("same_values"), icon=":material/edit:")
    if begin and live.start(_JOBS, *runs):
        st.rerun()
    if names:
        _show_started(names, views)


def _show_started(names: list[str], known: list[JobView | None]) -> None:
    views = [view for view in known if view]
    if len(views) != len(known) or len(names) != 2:
        st.info(TEMPLATES.text("over"), icon=":material/history:")
        return
    called = _called(*(view.settings for view in views))
    if not called:
        st.info(TEMPLATES.text("incomparable"), icon=":material/edit:")
    elif any(view.active for view in views):
        fragment(_follow, run_every=live.SECONDS)(names, called)
    else:
        _show_runs(views, called)


def _follow(names: list[str], called: list[str]) -> None:
    """Show the runs of a fragment that repeats; rerun the page once both trainings have ended."""
    views = [training_runs.jobs().look(name) for name in names]
    if None in views or not any(view.active for view in views):
        st.rerun()
    _show_runs(views, called)


def _show_runs(views: list[JobView], called: list[str]) -> None:
    st.markdown(f"**{plain(sentence_case(task_text(views[0].settings)))}**")
    for column, view, name in zip(st.columns(2, gap="medium"), views, called, strict=True):
        with column:
            st.markdown(f"**{plain(name)}**")
            live.show_numbers(view)
            st.caption(plain(state_text(view)))
    replays = [(name, view.replay) for name, view in zip(called, views, strict=True) if view.replay is not None]
    outcome = comparison(list(zip(called, views, strict=True)))
    if replays:
        alt = TEMPLATES.text("alt", runs=tuple(called))
        show_figure(plots.training_runs(replays, theme="page"), "runs", alt, outcome or "")
    if outcome:
        show_finding(outcome, TEMPLATES.text("attempt"))
    st.caption(plain(TEMPLATES.text("first_run", model=model_text(views[0].settings))))


def _called(first: ToySettings, second: ToySettings) -> list[str]:
    """Return the runs' names: their values of the one hyperparameter in which they differ; [] if it is not one."""
    differing = [
        field.name for field in fields(ToySettings) if getattr(first, field.name) != getattr(second, field.name)
    ]
    for hyperparameter in HYPERPARAMETERS.values():
        if differing == [hyperparameter.field]:
            names = {value: name for name, value in hyperparameter.values.items()}
            values = [getattr(settings, hyperparameter.field) for settings in (first, second)]
            return [option_label(names.get(value, str(value))) for value in values]
    return []
