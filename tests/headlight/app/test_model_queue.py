"""The queue of model runs: order, cancelled waiting, batches, and the second process."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from support.server import until

from headlight.app import model_queue
from headlight.app.model_queue import BATCH, CROWD, RESULTS, ModelQueue, Request


@pytest.fixture
def queue() -> ModelQueue:
    return ModelQueue()


@pytest.fixture
def served() -> list:
    """Names of the visitors served, or the batches computed."""
    return []


def visit(queue: ModelQueue, served: list, *names: object, **options) -> list[threading.Thread]:
    """Add visitors to the line, one after the other, while the caller has the turn."""

    def take_turn(name: object) -> None:
        with queue.turn(**options):
            served.append(name)

    visitors = [threading.Thread(target=take_turn, args=(name,), daemon=True) for name in names]
    before = len(queue.line)
    for number, visitor in enumerate(visitors, 1):
        visitor.start()
        until(lambda waiting=before + number: len(queue.line) == waiting)
    return visitors


def visit_with(queue: ModelQueue, *requests: Request | None) -> list[threading.Thread]:
    return [visitor for request in requests for visitor in visit(queue, [], "visitor", request=request)]


def all_served(visitors: list[threading.Thread]) -> bool:
    for visitor in visitors:
        visitor.join(300)
    return not any(visitor.is_alive() for visitor in visitors)


def batches_into(batches: list):
    """Return a function that computes batches and adds each to `batches`; the item "failure" fails."""

    def compute(model, items):
        batches.append(list(items))
        for item in items:
            if item == "failure":
                raise ValueError
            yield None if item == "nothing" else f"{model}: {item}"

    return compute


def test_turns_come_in_the_order_of_arrival_after_nested_turns_and_errors(queue, served):
    with pytest.raises(ZeroDivisionError), queue.turn():
        with queue.turn():
            pass
        visitors = visit(queue, served, *"abcd")
        assert served == [] and queue.has_turn(), "the inner turn has not ended the outer one"
        raise ZeroDivisionError
    assert all_served(visitors) and served == list("abcd") and not queue.has_turn()


def test_one_visitor_at_a_time_has_the_turn(queue):
    inside, alone = [], []

    def run(number: int) -> None:
        with queue.turn():
            inside.append(number)
            time.sleep(0)  # lets another thread run
            alone.append(inside == [number])
            inside.clear()
            queue.let_others_go_first()

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(run, range(120)))
    assert alone == [True] * 120


def test_a_waiting_visitor_sees_a_notice_until_the_turn_comes(served, monkeypatch):
    monkeypatch.setattr(model_queue, "_PATIENCE", 0.0)
    texts: list[str] = []
    notice = SimpleNamespace(info=lambda text, icon: texts.append(text), empty=lambda: texts.append(""))

    def wait() -> None:
        with model_queue.in_turn(notice, None):
            pass

    with model_queue.queue.turn():
        visitors = visit(model_queue.queue, served, "first")
        visitors.append(threading.Thread(target=wait, daemon=True))
        visitors[-1].start()
        until(lambda: len(texts) > 1)
    assert all_served(visitors) and texts[0].startswith("2 other visitors are ahead") and texts[-1] == ""
    texts.clear()
    wait()
    assert texts == [], "without others there is no notice"


@pytest.mark.parametrize("when", ["while waiting", "as the turn comes"])
def test_a_leaving_visitor_does_not_take_the_turn_along(when, queue, served, monkeypatch):
    monkeypatch.setattr(model_queue, "_PATIENCE", 0.0)
    passed_on = threading.Event()

    def leave(ahead: int) -> None:
        if when == "while waiting" or passed_on.wait(300):
            raise ConnectionError

    def wait() -> None:
        with pytest.raises(ConnectionError), queue.turn(tell=leave):
            served.append("leaver")

    with queue.turn():
        leaver = threading.Thread(target=wait, daemon=True)
        leaver.start()
        until(lambda: queue.line if when == "as the turn comes" else not leaver.is_alive())
        visitors = visit(queue, served, "stayer")
    passed_on.set()
    assert all_served([leaver, *visitors]) and served == ["stayer"] and not queue._busy


def test_the_line_moves_on_between_the_parts_of_a_long_task(queue, served):
    queue.let_others_go_first()  # without a turn there is none to pass on
    with queue.turn():
        queue.let_others_go_first()  # nobody waits
        visitors = visit(queue, served, *"ab")
        queue.let_others_go_first()
        assert served == ["a", "b"]
        visitors += visit(queue, served, "late")
        assert served == ["a", "b"] and queue.has_turn()
    assert all_served(visitors) and served == ["a", "b", "late"]


def test_a_batch_has_each_waiting_request_of_its_kind_once_up_to_a_failure(queue, served):
    compute, other, items = batches_into(served), batches_into(served), ["first", "b", "nothing", "c", "failure", "d"]
    alone, first, *others = (Request(compute, "m", item) for item in ("alone", *items))
    with queue.turn(alone):
        assert queue.result(None) is None and queue.result(alone) is None and served == [], "alone it is the caller's"
        different = Request(compute, "another model", "a"), Request(other, "m", "a"), None
        visitors = visit_with(queue, *others, others[0], *different, first)
        assert queue.result(first) == "m: first" and served == [items]
        assert [queue.result(request) for request in others] == ["m: b", None, "m: c", None, None] and len(served) == 1
    assert all_served(visitors)


def test_batches_and_the_number_of_results_are_limited(queue):
    compute = batches_into([])
    first, *others = (Request(compute, "m", str(number)) for number in range(2 * BATCH))
    assert queue._batch(first, *others) == [first, *others[: BATCH - 1]]
    requests = [Request(compute, "m", number) for number in range(RESULTS + 1)]
    assert [queue.result(request) for request in requests] == [None] * len(requests)
    assert requests[0] not in queue._results and len(queue._results) == RESULTS


@pytest.fixture
def helps(monkeypatch) -> None:
    """Make the second process useful, and as slow as it likes."""
    monkeypatch.setattr(model_queue, "_PATIENCE", 300.0)
    monkeypatch.setattr(model_queue, "usable_cores", lambda: 2)
    monkeypatch.setenv("HEADLIGHT_DEVICE", "cpu")
    monkeypatch.delenv(model_queue.SWITCH, raising=False)


def upper(*texts: str) -> list[Request]:
    return [Request(map, str.upper, text) for text in texts]


def test_the_process_computes_the_requests_next_in_the_line_also_late(queue, helps, tmp_path, monkeypatch):
    requests = upper(*(f"text {number} 😀\ud800" for number in range(2 * BATCH + 2)))
    with queue.turn():
        visitors = visit_with(queue, *requests)
        until(lambda: all(each in queue._results for each in requests[: 2 * BATCH]))
        assert not any(each in queue._results for each in requests[2 * BATCH :]), "they have time"
        assert [queue.result(each) for each in requests[:BATCH]] == [each.item.upper() for each in requests[:BATCH]]
        assert queue.result(*upper("late")) is None, "a visitor without waiting computes it"
    assert all_served(visitors) and queue._process

    monkeypatch.setattr(model_queue, "_PATIENCE", 0.0)
    for name in "abc":
        os.mkfifo(tmp_path / name)  # reading blocks until something is written
    hanging = [Request(map, Path.read_text, tmp_path / name) for name in "abc"]
    with queue.turn():
        visitors = visit_with(queue, *hanging)
        until(lambda: hanging[0] in queue._results)
        assert queue.result(hanging[0]) is None and queue._process, "it may only be slow"
        for request in hanging:
            request.item.write_text("at last")
        until(lambda: not queue._is_computing)
        assert [queue.result(each) for each in hanging] == ["at last"] * 3
    assert all_served(visitors)


@pytest.mark.parametrize("reason", ["few wait", "forbidden", "one core", "a GPU"])
def test_no_process_is_started_where_it_would_not_help(reason, queue, helps, monkeypatch):
    if reason == "forbidden":
        monkeypatch.setenv(model_queue.SWITCH, "0")
    if reason == "one core":
        monkeypatch.setattr(model_queue, "usable_cores", lambda: 1)
    if reason == "a GPU":
        monkeypatch.setattr(model_queue, "choose_device", lambda: torch.device("cuda"))
    texts = "abc"[: CROWD - 1] if reason == "few wait" else "abc"
    with queue.turn():
        visitors = visit_with(queue, *upper(*texts, *texts))  # equal requests are no crowd
        assert not queue._is_computing
    assert all_served(visitors)


@pytest.mark.parametrize("failure", ["dies", "cannot start"])
def test_without_its_process_the_server_computes_alone_and_stops_trying(failure, queue, helps, monkeypatch):
    if failure == "cannot start":
        monkeypatch.setattr(model_queue, "ProcessPoolExecutor", lambda *_, **__: 1 / 0)
    queue._starts = 1
    with queue.turn():
        deadly = [Request(map, os._exit, number) for number in range(CROWD)]
        visitors = visit_with(queue, *deadly) if failure == "dies" else []
        until(lambda: not visitors or (all(each in queue._results for each in deadly) and not queue._is_computing))
        assert not visitors or [queue.result(request) for request in deadly] == [None] * CROWD
        visitors += visit_with(queue, *upper("a", "b", "c"))
        until(lambda: not (queue._process or queue._is_computing or queue._starts))
        assert queue.result(*upper("b")) == "B"
    assert all_served(visitors)
