"""The view that trains live, through Streamlit's test runner: start, end, stop, and its address."""

import pytest
from streamlit.testing.v1 import AppTest
from support.pages import HOSTILE, PAGE, button, components, headlines, open_page, page_text, payload, run_until

from transformer.toy.settings import ToySettings

pytestmark = pytest.mark.usefixtures("jobs")
AGAIN = "Leave it and start again"
EASY = {"task": "copy", "symbols_long": "4", "number_of_letters": "7", "toy_width": "32", "toy_layers": "1"}


def open_live(**query: str) -> AppTest:
    return open_page(PAGE, **{"training": "train live", **query})


def replay(app: AppTest) -> dict | None:
    return payload(app) if components(app) else None


def test_a_training_runs_to_its_end_through_the_page(jobs):
    app = open_live(**EASY)
    button(app, "Start training").click().run()
    name = app.query_params["job"]
    assert jobs.look(name).settings == ToySettings(task="copy", vocabulary=7, length=4, d_model=32, num_layers=1)
    assert button(app, "Stop") and "Copy: write the same again" in page_text(app)
    run_until(app, lambda: replay(app) is not None and app.metric)
    assert {"Update", "Loss", "Exact match"} <= {metric.label for metric in app.metric}
    run_until(app, lambda: not button(app, "Stop"))
    (learned,) = app.success
    assert learned.value.startswith("Learned after") and learned.icon == ":material/check_circle:"
    view, shown = jobs.look(name), replay(app)
    (trajectory,) = view.replay.trajectories
    assert shown["following"] and shown["facts"]["steps"] == view.replay.steps.tolist()
    assert shown["facts"]["outputs"][-1] == trajectory.target_text
    assert "reads the right symbol" in headlines(app)[0] and len(headlines(app)) == 1
    values = {metric.label: metric.value for metric in app.metric}
    assert values["Update"] == f"{view.status.update:,}" and "Time" in values and "Time left, at most" not in values

    again = open_live(job=name)  # another browser, and none of the settings
    assert replay(again)["facts"]["steps"] == shown["facts"]["steps"] and again.success[0].value == learned.value

    reader = next(button for button in app.button if button.key == "reader_shown")
    app.segmented_control(key="kind_buttons").set_value("encoder").run()
    reader.click().run()
    layer, head = (replay(app)[name] + 1 for name in ("layer", "head"))
    assert reader.label == f"Show layer {layer}, head {head} of the cross-attention"
    assert replay(app)["facts"]["kind"] == "cross"


def test_starting_again_stops_the_earlier_training_of_this_visitor_alone(waiting):
    (sent,) = waiting.submit(ToySettings())
    app = open_live(job=sent)
    assert button(app, "Stop") and not button(app, "Start training"), "a click does not leave a running training"
    button(app, AGAIN).click().run()
    first = app.query_params["job"]
    assert first != sent and waiting.look(sent).active, "the training of another visitor"
    button(app, AGAIN).click().run()
    second = app.query_params["job"]
    assert (waiting.look(first).state, waiting.look(second).active) == ("stopped", True)
    app.segmented_control(key="training").set_value("compare runs").run()
    button(app, "Start both").click().run()
    assert not app.exception and waiting.look(second).state == "stopped"
    assert all(waiting.look(name).active for name in app.query_params["jobs"].split(","))


@pytest.mark.parametrize("name", HOSTILE[2:-1])
def test_an_unknown_training_gets_a_message(name):
    app = open_live(job=name)
    assert "time is up" in page_text(app) and button(app, "Start training") and not button(app, "Stop")
    assert replay(app) is None


def test_impossible_settings_get_a_message_and_the_training_goes_on(waiting):
    app = open_live()
    button(app, "Start training").click().run()
    app.slider(key="number_of_letters").set_value(2).run()
    app.slider(key="symbols_long").set_value(2).run()
    (warning,) = app.warning
    assert "2 symbols make only 4 sequences" in warning.value and "learn them by heart" in warning.value
    assert button(app, AGAIN).disabled and button(app, "Stop")
    app.slider(key="symbols_long").set_value(12).run()
    assert not app.warning and not button(app, AGAIN).disabled


def test_a_failed_training_gets_a_message(jobs, monkeypatch):
    def refuse(*arguments, **options):
        raise OSError("no process")

    monkeypatch.setattr("transformer.toy.jobs.subprocess.Popen", refuse)
    app = open_live()
    button(app, "Start training").click().run()
    assert "broke off before its first update; please start it again" in page_text(app)
