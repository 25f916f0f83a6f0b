"""What takes long: done at once where nobody waits, else after everybody's turn, and only while it is still wanted."""

import contextlib
import threading
import time

import pytest
from headlight.app.results.afterwards import Afterwards
from headlight.app.results.turn_taking import Turns
from support.pages import components, open_page, page_text
from support.until import until

from headlight.app import results


def task(log: list[str], *names: str):
    """A task of several parts, which log their names."""

    def run():
        for name in names:
            log.append(name)
            yield

    return run


@pytest.fixture
def turns() -> Turns:
    return Turns()


@pytest.fixture
def crowd(turns, monkeypatch) -> Turns:
    monkeypatch.setattr(turns, "crowded", lambda: True)
    return turns


def test_where_nobody_waits_a_task_is_done_at_once_and_only_once(turns):
    tasks, log = Afterwards(turns), []
    with turns.turn():
        assert tasks.is_done("visitor", "request", task(log, "a", "b"))
        assert tasks.is_done("other", "request", task(log, "a", "b"))
    assert log == ["a", "b"] and threading.active_count() < 100


def test_where_others_wait_it_comes_after_them_and_lets_them_go_first_before_each_part(crowd):
    tasks, log = Afterwards(crowd), []

    def first_part():
        log.append("first part")
        threading.Thread(target=visit).start()
        until(lambda: crowd.wishes() == ["late"])
        yield
        log.append("second part")

    def visit():
        with crowd.turn("late"):
            log.append("late visitor")

    with crowd.turn():
        assert not tasks.is_done("visitor", "request", first_part)
        time.sleep(0.05)
        assert log == []
    until(lambda: tasks.is_done("visitor", "request", first_part))
    assert log == ["first part", "late visitor", "second part"]
    until(lambda: not any(thread.name == "afterwards" for thread in threading.enumerate()))


def test_tasks_are_done_in_the_order_in_which_they_were_asked_for(crowd):
    tasks, log = Afterwards(crowd), []
    with crowd.turn():
        for name in "abc":
            assert not tasks.is_done(name, name, task(log, name))
        assert not tasks.is_done("a", "a", task(log, "a"))  # asked again: it keeps its place
        assert [tasks.ahead(name) for name in "abcd"] == [0, 1, 2, 0]
    until(lambda: tasks.is_done("c", "c", task(log, "c")))
    assert log == ["a", "b", "c"]


def test_a_visitor_who_asks_for_something_else_gives_up_what_has_not_been_done(crowd):
    tasks, log = Afterwards(crowd), []
    with crowd.turn():
        tasks.is_done("visitor", "old", task(log, "old"))
        tasks.is_done("other", "other", task(log, "other"))
        tasks.is_done("visitor", "new", task(log, "new"))
    until(lambda: tasks.is_done("visitor", "new", task(log, "new")))
    assert log == ["other", "new"]


def test_what_nobody_asks_for_any_more_is_not_done(crowd):
    tasks, log = Afterwards(crowd), []
    with crowd.turn():
        tasks.is_done("gone", "request", task(log, "done"), seconds=0.01)
        time.sleep(0.05)
        assert tasks.ahead("another") == tasks.ahead("gone") == 0
    until(lambda: not any(thread.name == "afterwards" for thread in threading.enumerate()))
    assert log == []
    assert not tasks.is_done("back", "request", task(log, "done"))
    until(lambda: tasks.is_done("back", "request", task(log, "done")))
    assert log == ["done"]


def test_a_failure_is_met_where_the_result_is_needed_and_stops_nobody(crowd):
    tasks, log = Afterwards(crowd), []

    def fails():
        raise ValueError("no such head")
        yield

    with crowd.turn():
        tasks.is_done("visitor", "request", fails)
        tasks.is_done("other", "other", task(log, "other"))
    until(lambda: tasks.is_done("other", "other", task(log, "other")))
    assert tasks.is_done("visitor", "request", fails) and log == ["other"]
    calm = Turns()
    with calm.turn(), pytest.raises(ValueError, match="no such head"):
        Afterwards(calm).is_done("visitor", "request", fails)


def test_in_a_crowd_the_page_on_heads_says_what_it_waits_for_and_then_is_whole(monkeypatch):
    monkeypatch.setattr(results.turns, "crowded", lambda: True)
    others_have_gone, after_all_others = threading.Event(), results.turns.after_all_others

    @contextlib.contextmanager
    def turn():
        assert others_have_gone.wait(60)
        with after_all_others():
            yield

    monkeypatch.setattr(results.turns, "after_all_others", turn)
    app = open_page("pages/what_if.py", text="We wait for our turn.")
    assert not app.exception and not components(app)
    assert "after the translations that other visitors wait for." in app.info[0].value
    others_have_gone.set()
    until(lambda: not any(thread.name == "afterwards" for thread in threading.enumerate()))
    app.run()
    assert not app.exception and len(components(app)) == 1 and "Without 1 head:" in page_text(app)
    assert not any("other visitors" in info.value for info in app.info)


def test_heads_that_were_chosen_stay_chosen_over_a_crowd_on_coming_back(monkeypatch):
    off = "cross.1.2-cross.1.3-encoder.2.5"
    app = open_page("pages/what_if.py", text="We come back to it.", off=off)
    assert "Without 3 heads:" in page_text(app)
    app.switch_page("pages/translate.py").run()
    monkeypatch.setattr(results.turns, "crowded", lambda: True)
    app.text_input(key="text").set_value("We come back in a crowd.")
    app.switch_page("pages/what_if.py").run()
    assert not components(app) and "takes longer than a translation" in app.info[0].value
    until(lambda: not any(thread.name == "afterwards" for thread in threading.enumerate()))
    app.run()
    assert not app.exception and "Without 3 heads:" in page_text(app)
