"""Laws of the store of classes: by a model that keeps all in dictionaries, and in a crowd."""

import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from support.server import ROOT, until
from support.texts import awkward_texts

from headlight.classroom.sqlite_store import SqliteStore
from headlight.classroom.store import (
    LASTS,
    MOST_CLASSES,
    MOST_PARTICIPANTS,
    REMEMBERED,
    Answer,
    Classroom,
    CodeTakenError,
    Kind,
    NoClassError,
    NoRoomError,
    Outcome,
    Phase,
    Question,
    Round,
    StoreError,
    Truth,
)

CODE = "CDFHJ"
QUESTION = Question("Which of three?", ("this", "that", "another"))


def opened(store: SqliteStore, code: str = CODE, **more) -> Classroom:
    now = store.now()
    return Classroom(code=code, teacher="hash", salt="salt", opened=now, ends=now + LASTS, **more)


def asking(store: SqliteStore, number: int = 1, **more) -> Classroom:
    """A class that asks its question for so many times."""
    rounds = tuple(
        Round(number=each, question=QUESTION, truth=Truth(), step="", version=each, asked=store.now())
        for each in range(1, number + 1)
    )
    return opened(store, phase=Phase.ASKING, rounds=rounds, **more)


def answer(store: SqliteStore, participant: str, choice: str = "0", number: int = 1, code: str = CODE) -> Outcome:
    return store.answer(code, Answer(round=number, participant=participant, choice=choice, at=store.now()))


def put(phase: Phase) -> Callable[[Classroom], Classroom]:
    return lambda old: replace(old, phase=phase, version=old.version + 1)


def test_a_class_comes_back_to_the_letter(store):
    for number, text in enumerate(awkward_texts(60)):
        question = Question(text, (text, f"={text}", "\x00"), Kind.SEVERAL)
        truth = Truth(text, right=(0, 2), feedback=(text, "", "'"), link="decoding?text=%3D&lesson=a.1")
        asked = Round(number=1, question=question, truth=truth, step=text, version=3, asked=1.25, closed=2.5)
        code = f"CODE{number}"
        kept = opened(store, code, lesson=text, step=7, phase=Phase.REVEALED, version=9, rounds=(asked,), locked=True)
        store.create(kept)
        assert store.read(code) == kept
        number_asked = replace(asked, question=Question(text, (), Kind.NUMBER), truth=Truth(value=-0.1, margin=1e-9))
        assert store.change(code, lambda old, new=number_asked: replace(old, rounds=(new,))).rounds == (number_asked,)
        assert store.read(code).rounds == (number_asked,)
    assert store.read("NONE2") is None


def test_a_code_is_given_once_and_a_full_store_has_room_again_when_a_class_is_over(store, clock):
    for number in range(MOST_CLASSES - 1):
        store.create(opened(store, f"C{number:04}"))
    first = replace(opened(store), ends=store.now() + 5)
    store.create(first)
    with pytest.raises(CodeTakenError):
        store.create(replace(first, teacher="another"))
    assert store.read(CODE) == first
    with pytest.raises(NoRoomError):
        store.create(opened(store, "OTHER"))
    clock.ahead += 6
    store.create(opened(store, "OTHER"))
    assert store.read(CODE) is None and store.read("OTHER")


def test_a_change_that_fails_or_changes_nothing_leaves_the_class_and_one_of_no_class_is_refused(store):
    before = opened(store)
    store.create(before)

    def fail(old: Classroom) -> Classroom:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.change(CODE, fail)
    assert store.change(CODE, lambda old: old) == before == store.read(CODE)
    with pytest.raises(NoClassError):
        store.change("NONE2", lambda old: old)


def test_no_change_of_many_at_once_is_lost(store):
    store.create(opened(store))

    def change(_: int) -> None:
        for _ in range(20):
            store.change(CODE, lambda old: replace(old, version=old.version + 1))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(change, range(4)))
    assert store.read(CODE).version == 1 + 4 * 20


def test_the_last_answer_of_a_round_counts_at_most_one_a_second(store, clock):
    store.create(asking(store, 2))
    assert answer(store, "a", number=1) == Outcome.CLOSED, "an earlier round"
    assert answer(store, "a", number=3) == Outcome.CLOSED, "one to come"
    assert answer(store, "a", "0", 2) == Outcome.KEPT
    (first,) = store.answers(CODE, 2)
    assert answer(store, "a", "1", 2) == Outcome.TOO_SOON
    assert answer(store, "a", "0", 2) == Outcome.KEPT
    assert store.answers(CODE, 2) == [first], "the same again changes nothing"
    clock.ahead += 1.5
    assert answer(store, "a", "1", 2) == Outcome.KEPT and answer(store, "b", "", 2) == Outcome.KEPT
    assert [(each.participant, each.choice) for each in store.answers(CODE, 2)] == [("a", "1"), ("b", "")]
    assert store.answers(CODE, 2)[0].at > first.at + 1
    store.change(CODE, put(Phase.CLOSED))
    clock.ahead += 1.5
    assert answer(store, "a", "2", 2) == Outcome.CLOSED == answer(store, "c", "2", 2)
    assert [store.answer_of(CODE, 2, each) for each in "abc"] == ["1", "", None]
    assert store.answers(CODE, 1) == []
    assert answer(store, "a", code="NONE2") == Outcome.NO_CLASS


def test_a_full_or_locked_class_goes_on_with_those_who_are_in(store):
    store.create(asking(store))
    for number in range(MOST_PARTICIPANTS):
        assert store.admit(CODE, f"p{number}") == Outcome.KEPT
    assert store.admit(CODE, "late") == answer(store, "late") == Outcome.FULL
    assert store.admit(CODE, "p7") == answer(store, "p7") == Outcome.KEPT
    store.change(CODE, lambda old: replace(old, locked=True))
    assert store.admit(CODE, "late") == answer(store, "late") == Outcome.LOCKED
    assert store.admit(CODE, "p8") == answer(store, "p8") == Outcome.KEPT
    assert store.admit("NONE2", "p8") == Outcome.NO_CLASS
    assert [each.participant for each in store.answers(CODE, 1)] == ["p7", "p8"]


def test_who_was_seen_is_counted_since_a_moment_and_nobody_who_is_not_in(store, clock):
    store.create(asking(store))
    start = store.now()
    for name in "abc":
        store.admit(CODE, name)
    assert len(store.seen_since(CODE, start)) == 3
    clock.ahead += 60
    later = store.now()
    store.note_seen(CODE, {"b": later, "c": start - 5, "stranger": later})
    answer(store, "d")
    assert len(store.seen_since(CODE, later - 1)) == 2, "b, and d by the answer"
    assert len(store.seen_since(CODE, start)) == 4, "nobody is seen less by an old note"


def test_a_class_is_gone_after_its_time(store, clock):
    store.create(asking(store))
    answer(store, "a")
    clock.ahead += LASTS - 10
    assert store.read(CODE) and answer(store, "b") == Outcome.KEPT
    clock.ahead += 20
    assert store.read(CODE) is None
    assert answer(store, "a", "1") == answer(store, "c") == store.admit(CODE, "c") == Outcome.NO_CLASS
    with pytest.raises(NoClassError):
        store.change(CODE, put(Phase.CLOSED))


def test_an_ended_class_keeps_nothing_but_that_it_was_there_and_that_for_an_hour(store, clock):
    store.create(asking(store))
    answer(store, "a")
    ended = store.change(CODE, lambda old: old.ended(store.now()))
    assert store.read(CODE) == ended and ended.rounds == () and not ended.teacher + ended.salt
    assert ended.ends - store.now() <= REMEMBERED
    assert store.answers(CODE, 1) == [] and store.seen_since(CODE, 0) == [] and store.answer_of(CODE, 1, "a") is None
    assert answer(store, "a") == Outcome.CLOSED and store.admit(CODE, "b") == Outcome.NO_CLASS
    clock.ahead += REMEMBERED + 1
    assert store.read(CODE) is None


@pytest.mark.parametrize("way", ["ended", "expired"])
def test_no_byte_of_a_class_that_is_gone_is_left_in_the_file(tmp_path, clock, way):
    path = tmp_path / "classes.sqlite3"
    store = SqliteStore(path, clock)
    secret = "a participant of this class"
    store.create(asking(store, lesson="the lesson's name"))
    answer(store, secret)
    stored = lambda: b"".join(each.read_bytes() for each in tmp_path.iterdir())  # noqa: E731
    assert all(text in stored() for text in (secret.encode(), b"the lesson's name", QUESTION.text.encode()))
    if way == "ended":
        store.change(CODE, lambda old: old.ended(store.now()))
    else:
        clock.ahead += LASTS + 1
        store.purge()
    assert not any(text in stored() for text in (secret.encode(), b"the lesson's name", QUESTION.text.encode()))
    store.close()


def test_a_store_that_cannot_be_reached_says_so(tmp_path):
    (tmp_path / "file").write_text("no database, and longer than its header would be" * 10)
    with pytest.raises(StoreError):
        SqliteStore(tmp_path / "file")
    with pytest.raises(StoreError):
        SqliteStore(tmp_path / "no folder" / "none" / "classes.sqlite3")


def test_a_file_that_the_system_tidied_away_is_made_anew_for_the_next_class(tmp_path, clock):
    path = tmp_path / "own" / "classes.sqlite3"
    store = SqliteStore(path, clock)
    assert path.parent.stat().st_mode & 0o077 == 0, "nobody else may look"
    for each in path.parent.iterdir():
        each.unlink()
    store.create(asking(store))
    assert answer(SqliteStore(path, clock), "a") == Outcome.KEPT
    assert len(store.answers(CODE, 1)) == 1
    store.close()


def test_a_folder_of_somebody_else_where_everybody_may_make_one_is_not_used(tmp_path, monkeypatch):
    tmp_path.chmod(0o777)
    (tmp_path / "own").mkdir()
    SqliteStore(tmp_path / "own" / "classes.sqlite3").close()
    monkeypatch.setattr("os.getuid", lambda: 12345)
    with pytest.raises(StoreError, match="somebody else's"):
        SqliteStore(tmp_path / "own" / "classes.sqlite3")


def test_a_file_of_another_version_is_begun_anew(tmp_path):
    path = tmp_path / "classes.sqlite3"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE class (something TEXT)")
        other.execute("PRAGMA user_version = 99")
    store = SqliteStore(path)
    store.create(asking(store))
    assert answer(store, "a") == Outcome.KEPT
    store.close()


class Model:
    """What a store is to do, with dictionaries: `answers[round, participant]`, and who is `inside`."""

    def __init__(self, classroom: Classroom):
        self.phase, self.locked, self.round = classroom.phase, False, len(classroom.rounds)
        self.inside: set[str] = set()
        self.answers: dict[tuple[int, str], tuple[str, float]] = {}

    def admit(self, participant: str) -> Outcome:
        if participant in self.inside:
            return Outcome.KEPT
        if self.locked:
            return Outcome.LOCKED
        self.inside.add(participant)
        return Outcome.KEPT

    def answer(self, number: int, participant: str, choice: str, at: float) -> Outcome:
        if self.phase != Phase.ASKING or number != self.round:
            return Outcome.CLOSED
        entered = self.admit(participant)
        if entered != Outcome.KEPT:
            return entered
        last = self.answers.get((number, participant))
        if last and last[0] != choice:
            if at - last[1] < 1:
                return Outcome.TOO_SOON
            last = None
        self.answers[number, participant] = last or (choice, at)
        return Outcome.KEPT


@pytest.mark.parametrize("seed", range(6))
def test_a_store_does_what_the_model_does_whatever_comes_in_whatever_order(store, clock, seed):
    chance = random.Random(seed)
    store.create(asking(store, 3))
    model = Model(store.read(CODE))
    for _ in range(150):
        act, who, at = chance.choice(("answer",) * 6 + ("admit", "phase", "lock")), chance.choice("abcdef"), store.now()
        if act == "answer":
            number, choice = chance.choice((2, 3, 3, 3)), chance.choice(("0", "1", "0,2", ""))
            given = Answer(round=number, participant=who, choice=choice, at=at)
            assert store.answer(CODE, given) == model.answer(number, who, choice, at)
        elif act == "admit":
            assert store.admit(CODE, who) == model.admit(who)
        elif act == "phase":
            model.phase = chance.choice((Phase.ASKING, Phase.ASKING, Phase.CLOSED, Phase.REVEALED))
            store.change(CODE, put(model.phase))
        else:
            model.locked = not model.locked
            store.change(CODE, lambda old: replace(old, locked=model.locked))
        clock.ahead += chance.choice((0, 0, 0.4, 1.1))
    kept = {(each.round, each.participant): (each.choice, each.at) for n in (2, 3) for each in store.answers(CODE, n)}
    assert kept == model.answers
    assert len(store.seen_since(CODE, 0)) == len(model.inside)


def test_in_the_moment_of_closing_what_was_acknowledged_is_kept_and_nothing_else(store):
    store.create(asking(store))

    def go_on(number: int) -> list[tuple[str, Outcome]]:
        found = []
        while not found or found[-1][1] != Outcome.CLOSED:
            name = f"{number}.{len(found)}"
            found.append((name, answer(store, name)))
        return found

    with ThreadPoolExecutor(8) as threads:
        going = [threads.submit(go_on, number) for number in range(6)]
        until(lambda: len(store.answers(CODE, 1)) > 30)
        store.change(CODE, put(Phase.CLOSED))
        closed = {each.participant for each in store.answers(CODE, 1)}
        outcomes = dict(each for future in going for each in future.result())
    kept = {name for name, outcome in outcomes.items() if outcome == Outcome.KEPT}
    assert {each.participant for each in store.answers(CODE, 1)} == kept == closed
    assert set(outcomes.values()) <= {Outcome.KEPT, Outcome.CLOSED, Outcome.FULL} and len(kept) > 30


# Another server of the same class: answers until it is closed, and prints who was acknowledged.
ANSWERING = """
import sys
from pathlib import Path
from headlight.classroom.sqlite_store import SqliteStore
from headlight.classroom.store import Answer
path, name = sys.argv[1:]
store, number, outcome = SqliteStore(Path(path)), 0, "kept"
while outcome == "kept":
    number += 1
    participant = f"{name}.{number % 90}"
    outcome = store.answer("CDFHJ", Answer(round=1, participant=participant, choice="0", at=store.now()))
    if outcome == "kept":
        print(participant, flush=True)
print(outcome)
"""


def test_servers_that_share_a_file_take_answers_side_by_side_until_the_round_is_closed(store, tmp_path):
    store.create(asking(store))
    command = [sys.executable, "-c", ANSWERING, str(tmp_path / "classes.sqlite3")]
    servers = [
        subprocess.Popen([*command, f"server {each}"], cwd=ROOT, stdout=subprocess.PIPE, text=True) for each in range(3)
    ]
    until(lambda: len({each.participant[:8] for each in store.answers(CODE, 1)}) == 3)
    store.change(CODE, put(Phase.CLOSED))
    closed = {each.participant for each in store.answers(CODE, 1)}
    told = [server.communicate()[0].splitlines() for server in servers]
    assert [lines[-1] for lines in told] == ["closed"] * 3
    assert {line for lines in told for line in lines[:-1]} == closed
