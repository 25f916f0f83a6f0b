"""The view of two runs that differ in one hyperparameter, through Streamlit's test runner."""

from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest
from support.pages import HOSTILE, PAGE, button, headlines, open_page, page_text, specs

from headlight.app.results import training_runs
from headlight.views.training.compare import HYPERPARAMETERS
from transformer.toy.jobs import JobView
from transformer.toy.settings import ToySettings
from transformer.toy.training import ToyTraining

TINY = {"vocabulary": 5, "length": 6, "d_model": 16, "num_layers": 1, "num_heads": 2, "max_updates": 30}


pytestmark = pytest.mark.usefixtures("jobs")


def open_view(**query: str) -> AppTest:
    return open_page(PAGE, **{"training": "compare runs", **query})


@pytest.mark.parametrize("hyperparameter", HYPERPARAMETERS)
def test_two_runs_differ_in_the_hyperparameter_alone_and_are_stopped_together(hyperparameter, waiting):
    app = open_view(hyperparameter=hyperparameter, toy_seed="3")
    field, values = HYPERPARAMETERS[hyperparameter].field, HYPERPARAMETERS[hyperparameter].values
    button(app, "Start both").click().run()
    assert not app.exception
    first, second = (vars(waiting.look(name).settings) for name in app.query_params["jobs"].split(","))
    assert {name for name in first if first[name] != second[name]} == {field}
    assert [first[field], second[field]] == list(values.values())[:2]
    assert first["seed"] == 3 and first["max_updates"] == 1000
    button(app, "Stop both").click().run()
    assert [view.state for view in map(waiting.look, app.query_params["jobs"].split(","))] == ["stopped"] * 2
    assert page_text(app).count("Stopped ") == 2 and not button(app, "Stop both")


def ended(settings: ToySettings) -> JobView:
    training = ToyTraining(settings)
    *_, status = training.run()
    return JobView(settings, "done", 0, status, training.replay())


def test_both_runs_stand_in_one_figure_and_are_compared(monkeypatch):
    views = {"one": ended(ToySettings(**TINY)), "other": ended(ToySettings(**TINY, norm="post"))}
    monkeypatch.setattr(training_runs, "jobs", lambda: SimpleNamespace(look=views.get))
    app = open_view(jobs="one,other")
    (figure,) = specs(app)
    assert [trace["name"] for trace in figure["data"]] == ["pre-norm", "pre-norm", "post-norm", "post-norm"]
    assert [trace.get("yaxis", "y") for trace in figure["data"]] == ["y", "y2"] * 2
    assert headlines(app)[0].startswith("“pre-norm” gets ") and "after 30 and 30 updates" in page_text(app)
    assert {metric.label for metric in app.metric} == {"Update", "Loss", "Exact match", "Time"}
    assert not button(app, "Stop both")


def test_two_equal_values_cannot_be_started(jobs):
    app = open_view(hyperparameter="norm", second_norm="pre-norm")
    assert button(app, "Start both").disabled and "two different values" in page_text(app)
    app.segmented_control(key="second_norm").set_value("post-norm").run()
    assert not button(app, "Start both").disabled


@pytest.mark.parametrize("names", HOSTILE[1:])
def test_an_address_without_two_trainings_gets_a_message(names):
    app = open_view(jobs=names)
    assert ("time of these trainings is up" in page_text(app)) == bool(names.strip(","))
    assert not specs(app) and button(app, "Start both") and not button(app, "Stop both")


@pytest.mark.parametrize("changes", [{}, {"norm": "post", "seed": 2}, {"task": "copy"}])
def test_two_trainings_that_do_not_differ_in_one_hyperparameter_are_not_compared(changes, waiting):
    names = waiting.submit(ToySettings(**TINY), ToySettings(**TINY, **changes))
    app = open_view(jobs=",".join(names))
    assert "differ in more than one hyperparameter, or in none" in page_text(app) and not specs(app)
