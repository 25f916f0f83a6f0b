"""Turns: one at a time, first come first served, and nobody who leaves takes the turn along."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from headlight.app.results.turn_taking import Turns
from support.until import until

from headlight.app.results import turn_taking


class Visitor(threading.Thread):
    """Waits for its turn, notes its name, and may stay until it is told to end."""

    def __init__(self, turns: Turns, name: str, log: list[str], *, tell=None, stay: bool = False):
        super().__init__(name=name, daemon=True)
        self._turns, self._log, self._tell = turns, log, tell
        self.end, self.failure = threading.Event(), None
        if not stay:
            self.end.set()
        self.start()

    def run(self) -> None:
        try:
            with self._turns.turn(self.name, self._tell or (lambda ahead: None)):
                self._log.append(self.name)
                assert self.end.wait(10)
        except BaseException as error:
            self.failure = error


@pytest.mark.parametrize("most", [1, 2])
def test_never_more_than_so_many_at_a_time_and_all_are_served(most):
    turns, inside, seen, lock = Turns(most), [], [], threading.Lock()

    def visit(number: int) -> None:
        with turns.turn():
            with lock:
                inside.append(number)
                seen.append(len(inside))
            time.sleep(0.002)
            with lock:
                inside.remove(number)

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(visit, range(60)))
    assert len(seen) == 60 and max(seen) == most


def test_first_come_first_served_and_what_each_will_ask_for_is_known():
    turns, log = Turns(), []
    with turns.turn():
        visitors = []
        for name in "abcd":
            visitors.append(Visitor(turns, name, log))
            until(lambda: len(turns.wishes()) == len(visitors))
        assert turns.wishes() == list("abcd") and log == []
    for visitor in visitors:
        visitor.join(10)
    assert log == list("abcd") and turns.wishes() == []


def test_who_has_a_turn_may_ask_again():
    turns = Turns()
    with turns.turn():
        with turns.turn():
            pass
        other = Visitor(turns, "other", log := [])
        until(lambda: turns.wishes() == ["other"])
        assert log == [], "the inner turn has not ended the outer one"
    other.join(10)
    assert log == ["other"]


def test_an_error_in_a_turn_passes_it_on():
    turns = Turns()
    with pytest.raises(ZeroDivisionError), turns.turn():
        raise ZeroDivisionError
    other = Visitor(turns, "next", log := [])
    other.join(10)
    assert log == ["next"]


def test_who_leaves_while_waiting_is_not_served_and_the_next_one_is():
    turns, log = Turns(), []

    def leave(ahead: int) -> None:
        raise ConnectionError(f"left with {ahead} ahead")

    with turns.turn():
        leaver = Visitor(turns, "leaver", log, tell=leave)
        until(lambda: turns.wishes() == ["leaver"])
        stayer = Visitor(turns, "stayer", log)
        leaver.join(10)
        assert str(leaver.failure) == "left with 1 ahead" and turns.wishes() == ["stayer"]
    stayer.join(10)
    assert log == ["stayer"]


def test_a_turn_that_comes_while_its_owner_leaves_goes_to_the_next():
    turns, log = Turns(), []
    holder = Visitor(turns, "holder", log, stay=True)
    until(lambda: log == ["holder"])

    def leave_too_late(ahead: int) -> None:
        holder.end.set()
        holder.join(10)  # the turn has been passed on to this very visitor
        raise ConnectionError

    leaver = Visitor(turns, "leaver", log, tell=leave_too_late)
    leaver.join(10)
    assert isinstance(leaver.failure, ConnectionError)
    Visitor(turns, "next", log).join(10)
    assert log == ["holder", "next"]


def test_who_waits_hears_how_many_are_ahead():
    turns, log, heard = Turns(), [], []
    with turns.turn():
        first = Visitor(turns, "first", log)
        until(lambda: turns.wishes() == ["first"])
        second = Visitor(turns, "second", log, tell=heard.append)
        until(lambda: len(heard) >= 2)
    first.join(10), second.join(10)
    assert set(heard) == {2}


def test_others_go_on_while_someone_computes_for_long_and_then_the_turn_comes_back():
    turns, log = Turns(), []
    with turns.turn():
        with turns.aside():
            Visitor(turns, "quick", log).join(10)
            assert log == ["quick"]
        late = Visitor(turns, "late", log)
        until(lambda: turns.wishes() == ["late"])
        assert log == ["quick"], "the turn is taken again"
    late.join(10)
    assert log == ["quick", "late"]


def test_of_long_computations_one_runs_at_a_time():
    turns, inside, seen, lock = Turns(), [], [], threading.Lock()

    def compute(number: int) -> None:
        with turns.turn(), turns.aside():
            with lock:
                inside.append(number)
                seen.append(len(inside))
            time.sleep(0.01)
            with lock:
                inside.remove(number)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(compute, range(8)))
    assert seen == [1] * 8


def test_between_the_parts_of_something_long_the_line_moves_on():
    turns, log = Turns(), []
    with turns.turn():
        turns.let_others_go_first()  # nobody is there
        visitors = []
        for name in "ab":
            visitors.append(Visitor(turns, name, log))
            until(lambda: len(turns.wishes()) == len(visitors))
        turns.let_others_go_first()
        assert log == ["a", "b"]
        late = Visitor(turns, "late", log)
        until(lambda: turns.wishes() == ["late"])
    late.join(10)


def test_without_a_turn_there_is_none_to_give_away():
    turns = Turns()
    with turns.aside():
        turns.let_others_go_first()
    with turns.turn():
        other = Visitor(turns, "other", log := [])
        until(lambda: turns.wishes() == ["other"])
        assert log == []
    other.join(10)


def test_who_goes_after_all_others_goes_after_those_who_come_later_too():
    turns, log = Turns(), []

    def last() -> None:
        with turns.after_all_others():
            log.append("last")

    with turns.turn():
        patient = threading.Thread(target=last)
        patient.start()
        until(lambda: len(turns._last) == 1)
        assert turns.wishes() == [] and not turns.crowded()
        visitors = []
        for name in "ab":
            visitors.append(Visitor(turns, name, log))
            until(lambda: len(turns.wishes()) == len(visitors))
        assert turns.crowded()
    patient.join(10)
    assert log == ["a", "b", "last"]
    with turns.turn():
        assert turns.crowded(), "a moment ago someone waited"


def test_who_lets_all_others_go_first_does_so_for_some_time_and_then_stands_in_the_line(monkeypatch):
    monkeypatch.setattr(turn_taking, "_PATIENCE", 0.0)
    monkeypatch.setattr(turn_taking, "_LOOK", 0.02)
    turns, log = Turns(), []

    def last() -> None:
        with turns.after_all_others():
            log.append("patient")

    with turns.turn():
        first = Visitor(turns, "first", log)
        until(lambda: turns.wishes() == ["first"])
        patient = threading.Thread(target=last)
        patient.start()
        until(lambda: len(turns._line) == 2)
        late = Visitor(turns, "late", log)
        until(lambda: len(turns._line) == 3)
    for thread in (first, patient, late):
        thread.join(10)
    assert log == ["first", "patient", "late"]


def test_waiting_for_what_comes_after_all_others_makes_no_crowd():
    turns, log = Turns(), []
    with turns.after_all_others():
        visitor = Visitor(turns, "visitor", log)
        until(lambda: turns.wishes() == ["visitor"])
    visitor.join(10)
    with turns.turn():
        assert log == ["visitor"] and not turns.crowded()
