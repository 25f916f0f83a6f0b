"""Laws of the queue: order, cancelling, batches, a process that may fail, and nobody gets another's result."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from support.server import until

from headlight.app import model_queue
from headlight.app.model_queue import BATCH, CROWD, KEPT, ModelQueue, Request


@pytest.fixture
def queue() -> ModelQueue:
    return ModelQueue()


@pytest.fixture
def log() -> list:
    return []


def come(queue: ModelQueue, log: list, *names: str, **how) -> list[threading.Thread]:
    """Visitors who note their names when served; each waits when the next comes: the caller has a turn."""

    def visit(name: str) -> None:
        with queue.turn(**how):
            log.append(name)

    visitors = [threading.Thread(target=visit, args=(name,), daemon=True) for name in names]
    before = len(queue.line)
    for number, visitor in enumerate(visitors, 1):
        visitor.start()
        until(lambda waiting=before + number: len(queue.line) == waiting)
    return visitors


@pytest.fixture
def impatient(monkeypatch) -> None:
    """Let waiting visitors hear of their position at once and again and again."""

    monkeypatch.setattr(model_queue, "_PATIENCE", 0.0)


def all_served(visitors: list[threading.Thread]) -> bool:
    for visitor in visitors:
        visitor.join(300)
    return not any(visitor.is_alive() for visitor in visitors)


# ----- order


def test_one_at_a_time_and_all_are_served(queue):
    inside, seen = [], []

    def visit(number: int) -> None:
        with queue.turn():
            inside.append(number)
            time.sleep(0)  # lets another thread run
            seen.append(list(inside))
            inside.remove(number)

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(visit, range(240)))
    assert sorted(seen) == [[number] for number in range(240)]


def test_first_come_first_served_also_after_an_error(queue, log):
    with pytest.raises(ZeroDivisionError), queue.turn():
        visitors = come(queue, log, *"abcd")
        assert log == []
        raise ZeroDivisionError
    assert all_served(visitors) and log == list("abcd")


def test_who_has_a_turn_may_ask_again(queue, log):
    with queue.turn():
        with queue.turn():
            pass
        visitors = come(queue, log, "other")
        assert log == [] and queue.has_turn(), "the inner turn has not ended the outer one"
    assert all_served(visitors) and log == ["other"] and not queue.has_turn()


def test_who_waits_hears_how_many_are_ahead_and_at_last_that_nobody_is(queue, log, impatient):
    heard = []
    with queue.turn():
        visitors = come(queue, log, "first") + come(queue, log, "second", tell=heard.append)
        until(lambda: len(heard) > 1)
    assert all_served(visitors) and heard[:2] == [2, 2] and heard[-1] == 0
    with queue.turn(tell=lambda ahead: pytest.fail("who need not wait hears nothing")):
        pass


@pytest.mark.parametrize("when", ["while waiting", "as the turn comes"])
def test_who_leaves_does_not_take_the_turn_along(when, queue, log, impatient):
    passed_on = threading.Event()

    def leave(ahead: int) -> None:
        if when == "while waiting" or passed_on.wait(300):
            raise ConnectionError

    def visit() -> None:
        with pytest.raises(ConnectionError), queue.turn(tell=leave):
            log.append("leaver")

    with queue.turn():
        leaver = threading.Thread(target=visit, daemon=True)
        leaver.start()
        until(lambda: queue.line if when == "as the turn comes" else not leaver.is_alive())
        visitors = come(queue, log, "stayer")
    passed_on.set()
    assert all_served([leaver, *visitors]) and log == ["stayer"] and not queue._busy


def test_between_the_parts_of_something_long_the_line_moves_on(queue, log):
    queue.let_others_go_first()  # without a turn there is none to pass on
    with queue.turn():
        queue.let_others_go_first()  # nobody is there
        visitors = come(queue, log, *"ab")
        queue.let_others_go_first()
        assert log == ["a", "b"]
        visitors += come(queue, log, "late")
        assert log == ["a", "b"] and queue.has_turn()
    assert all_served(visitors) and log == ["a", "b", "late"]


# ----- batches


def computing(log: list, fails: tuple[str, ...] = ()):
    """Return a function that computes batches, and notes them."""

    def compute(model, items):
        log.append(list(items))
        for item in items:
            if item in fails:
                raise ValueError(item)
            yield None if item == "nothing" else f"{model}: {item}"

    return compute


def test_a_batch_is_of_those_in_the_line_first_come_first_each_once_and_is_not_computed_again(queue, log):
    compute, other = computing(log), computing(log)
    first, *others = (Request(compute, "m", item) for item in ("a", "b", "nothing", "c"))
    with queue.turn(first):
        assert queue.result(None) is None and queue.result(first) is None and log == [], "alone it is the caller's"
        first = Request(compute, "m", "first")
        waiting = [*others, others[0], Request(compute, "another model", "a"), Request(other, "m", "a"), first, None]
        visitors = [one for request in waiting for one in come(queue, [], "visitor", request=request)]
        assert queue.result(first) == "m: first" and log == [["first", "b", "nothing", "c"]]
        assert [queue.result(request) for request in others] == ["m: b", None, "m: c"] and len(log) == 1
    assert all_served(visitors)


def test_a_batch_holds_no_more_than_it_may_and_the_oldest_results_go(queue, log):
    first, *others = (Request(computing, "m", str(number)) for number in range(2 * BATCH))
    assert queue._batch(first, *others) == [first, *others[: BATCH - 1]]
    requests = [Request(computing, "m", number) for number in range(KEPT + 1)]
    for request in requests:
        assert queue.result(request) is None
    assert requests[0] not in queue._results and len(queue._results) == KEPT


def test_after_a_failure_in_a_batch_each_tries_alone_and_what_was_there_before_is_kept(queue, log):
    compute = computing(log, fails=("b",))
    requests = [Request(compute, "m", item) for item in "abc"]
    with queue.turn():
        visitors = [one for request in requests for one in come(queue, [], "visitor", request=request)]
        assert [queue.result(request) for request in requests] == ["m: a", None, None] and log == [["a", "b", "c"]]
    assert all_served(visitors)


def test_nobody_gets_anothers_result(queue):
    compute = computing([])

    def ask(number: int) -> bool:
        request = Request(compute, number % 2, number % 40)
        with queue.turn(request):
            queue.let_others_go_first(early := Request(computing([]), "m", number))
            return queue.result(request) in (None, f"{number % 2}: {number % 40}") and queue.result(early) is None

    with ThreadPoolExecutor(12) as pool:
        assert all(pool.map(ask, range(240)))


# ----- the process


@pytest.fixture
def helps(monkeypatch) -> None:
    """Let the process be useful, and as slow as it likes."""
    monkeypatch.setattr(model_queue, "_PATIENCE", 300.0)
    monkeypatch.setattr(model_queue, "usable_cores", lambda: 2)
    monkeypatch.setenv("HEADLIGHT_DEVICE", "cpu")
    monkeypatch.delenv(model_queue.SWITCH, raising=False)


def upper(*texts: str) -> list[Request]:
    return [Request(map, str.upper, text) for text in texts]


def wait_with(queue: ModelQueue, requests: list[Request]) -> list[threading.Thread]:
    return [one for request in requests for one in come(queue, [], "visitor", request=request)]


def test_the_process_computes_for_those_next_in_the_line(queue, helps):
    requests = upper(*(f"text {number} 😀\ud800" for number in range(2 * BATCH + 2)))
    with queue.turn():
        visitors = wait_with(queue, requests)
        until(lambda: all(each in queue._results for each in requests[: 2 * BATCH]))
        assert not any(each in queue._results for each in requests[2 * BATCH :]), "they have time"
        assert [queue.result(each) for each in requests[:BATCH]] == [each.item.upper() for each in requests[:BATCH]]
        assert queue.result(*upper("late")) is None, "who has not waited computes it, and nobody else"
    assert all_served(visitors) and queue._process


@pytest.mark.parametrize("why_not", ["few wait", "forbidden", "one core", "a GPU"])
def test_no_process_is_started_where_it_would_not_help(why_not, queue, helps, monkeypatch):
    if why_not == "forbidden":
        monkeypatch.setenv(model_queue.SWITCH, "0")
    if why_not == "one core":
        monkeypatch.setattr(model_queue, "usable_cores", lambda: 1)
    if why_not == "a GPU":
        monkeypatch.setattr(model_queue, "choose_device", lambda: torch.device("cuda"))
    texts = "abc"[: CROWD - 1] if why_not == "few wait" else "abc"
    with queue.turn():
        visitors = wait_with(queue, upper(*texts, *texts))  # who want the same are no crowd
        assert not queue._is_computing
    assert all_served(visitors)


def test_who_waits_for_a_process_that_dies_goes_on_alone_and_it_is_not_started_for_ever(queue, helps):
    queue._starts = 1
    with queue.turn():
        deadly = [Request(map, os._exit, number) for number in range(CROWD)]
        visitors = wait_with(queue, deadly)
        until(lambda: all(each in queue._results for each in deadly) and not queue._is_computing)
        assert [queue.result(request) for request in deadly] == [None] * CROWD
        visitors += wait_with(queue, upper("a", "b", "c"))
        assert not (queue._process or queue._is_computing) and queue.result(*upper("b")) == "B", "it is computed here"
    assert all_served(visitors)


def test_who_waits_for_a_process_that_hangs_goes_on_alone(queue, helps, tmp_path, monkeypatch):
    monkeypatch.setattr(model_queue, "_PATIENCE", 0.0)
    for name in "abc":
        os.mkfifo(tmp_path / name)  # who reads it waits until something is written
    hanging = [Request(map, Path.read_text, tmp_path / name) for name in "abc"]
    with queue.turn():
        visitors = wait_with(queue, hanging)
        until(lambda: hanging[0] in queue._results)
        assert queue.result(hanging[0]) is None and queue._process, "it may only be slow"
        for request in hanging:
            request.item.write_text("at last")
        until(lambda: not queue._is_computing)
        assert [queue.result(each) for each in hanging] == ["at last"] * 3
    assert all_served(visitors)


def test_a_machine_with_nothing_to_spare_goes_on_as_before(queue, helps, monkeypatch):
    def refuse(*_, **__):
        raise RuntimeError

    monkeypatch.setattr(model_queue, "ProcessPoolExecutor", refuse)
    with queue.turn():
        visitors = wait_with(queue, upper("a", "b", "c"))
        until(lambda: not (queue._process or queue._is_computing or queue._starts))
        assert queue.result(*upper("b")) == "B"
    assert all_served(visitors)
