"""Laws of the store of classes: by a model that has all in dictionaries, and across processes."""

import itertools
import random
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from support.server import until
from support.texts import awkward_texts

from headlight.classroom.sqlite_store import SqliteStore
from headlight.classroom.store import (
    LASTS,
    MOST_CLASSES,
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


def asking(store: SqliteStore, rounds: int = 1, **more) -> Classroom:
    """Return a class that is in the last of so many rounds."""
    each = Round(number=1, question=QUESTION, truth=Truth(), step="", version=1, opened=store.now())
    every = tuple(replace(each, number=number, version=number) for number in range(1, rounds + 1))
    return opened(store, phase=Phase.ASKING, rounds=every, **more)


def answer(store: SqliteStore, participant: str, choice: str = "0", number: int = 1, code: str = CODE) -> Outcome:
    return store.answer(code, Answer(round=number, participant=participant, choice=choice, at=store.now()))


def put(phase: Phase) -> Callable[[Classroom], Classroom]:
    return lambda old: replace(old, phase=phase, version=old.version + 1)


def test_a_class_comes_back_to_the_letter(store):
    for number, text in enumerate(awkward_texts(60)):
        question, code = Question(text, (text, f"={text}", "\x00"), Kind.SEVERAL), f"CODE{number}"
        truth = Truth(text, right=(0, 2), feedback=(text, "", "'"), link="decoding?text=%3D&lesson=a.1")
        first = Round(
            number=1, question=question, truth=truth, step=text, version=3, opened=1.25, closed=2.5, hands=(1, 2)
        )
        stored = opened(
            store, code, lesson=text, step=7, phase=Phase.REVEALED, version=9, rounds=(first,), removed=(text,)
        )
        store.create(stored)
        assert store.read(code) == stored
        other = replace(first, question=Question(text, (), Kind.NUMBER), truth=Truth(value=-0.1, margin=1e-9))
        assert store.change(code, lambda old, new=other: replace(old, rounds=(new,))).rounds == (other,)
        assert store.read(code).rounds == (other,)
    assert store.read("NONE2") is None


def test_a_code_is_given_once_and_a_full_store_has_room_again_when_a_class_is_over(store, clock):
    for number in range(MOST_CLASSES - 1):
        store.create(opened(store, f"C{number:04}"))
        store.admit(f"C{number:04}", "phone")  # a class with nobody in it makes room
    first = replace(opened(store), ends=store.now() + 5)
    store.create(first)
    with pytest.raises(CodeTakenError):
        store.create(replace(first, teacher="another"))
    assert store.read(CODE) == first
    store.admit(CODE, "phone")
    with pytest.raises(NoRoomError):
        store.create(opened(store, "OTHER"))
    clock.ahead += 6
    store.create(opened(store, "OTHER"))
    assert store.read(CODE) is None and store.read("OTHER")


def test_a_failed_or_empty_change_leaves_the_class_and_no_change_of_many_at_once_is_lost(store):
    before = opened(store)
    store.create(before)

    def fail(old: Classroom) -> Classroom:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.change(CODE, fail)
    assert store.change(CODE, lambda old: old) == before == store.read(CODE)
    with pytest.raises(NoClassError):
        store.change("NONE2", lambda old: old)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: store.change(CODE, put(Phase.LOBBY)), range(80)))
    assert store.read(CODE).version == 1 + 80


def test_participants_are_counted_since_a_moment(store, clock):
    store.create(asking(store))
    start = store.now()
    for name in "abc":
        store.admit(CODE, name)
    clock.ahead += 60
    store.note_seen(CODE, {"b": store.now(), "c": start - 5, "stranger": store.now()})
    answer(store, "d")
    assert len(store.seen_since(CODE, store.now() - 1)) == 2, "b, and d by the answer"
    assert len(store.seen_since(CODE, start)) == 4, "an old note moves no time back"


@pytest.mark.parametrize("way", ["ended", "expired"])
def test_a_class_that_is_over_leaves_no_byte_in_the_file(store, tmp_path, clock, way):
    texts = ("a participant of this class", "the lesson's name", QUESTION.text)

    def is_stored(text: str) -> bool:
        return text.encode() in b"".join(each.read_bytes() for each in tmp_path.iterdir())

    store.create(asking(store, lesson=texts[1]))
    answer(store, texts[0])
    assert all(map(is_stored, texts))
    if way == "ended":
        ended = store.change(CODE, lambda old: old.ended(store.now()))
        assert store.read(CODE) == ended and ended.rounds == () and not ended.teacher + ended.salt
        assert answer(store, "a") == Outcome.CLOSED and store.admit(CODE, "b") == Outcome.NO_CLASS
        assert not any(map(is_stored, texts))
        assert store.answers(CODE, 1) == [] == store.seen_since(CODE, 0) and ended.ends - store.now() <= REMEMBERED
        clock.ahead += REMEMBERED + 1
    else:
        clock.ahead += LASTS - 10
        assert store.read(CODE) and answer(store, "b") == Outcome.KEPT
        clock.ahead += 20
        assert answer(store, "a", "1") == answer(store, "c") == store.admit(CODE, "c") == Outcome.NO_CLASS
        with pytest.raises(NoClassError):
            store.change(CODE, put(Phase.CLOSED))
    assert store.read(CODE) is None
    store.purge()
    assert not any(map(is_stored, texts))


def test_a_store_that_cannot_be_reached_raises(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no database, and longer than its header would be" * 10)
    for path in (tmp_path / "file", tmp_path / "no folder" / "none" / "classes.sqlite3"):
        with pytest.raises(StoreError):
            SqliteStore(path)
    tmp_path.chmod(0o777)
    SqliteStore(tmp_path / "own" / "classes.sqlite3").close()
    monkeypatch.setattr("os.getuid", lambda: 12345)
    with pytest.raises(StoreError, match="somebody else's"):
        SqliteStore(tmp_path / "own" / "classes.sqlite3")


def test_a_file_that_the_system_removed_or_of_another_version_is_begun_anew(tmp_path, clock):
    path = tmp_path / "own" / "classes.sqlite3"
    store = SqliteStore(path, clock)
    assert path.parent.stat().st_mode & 0o077 == 0, "nobody else may look"
    for each in path.parent.iterdir():
        each.unlink()
    store.create(asking(store))
    assert answer(SqliteStore(path, clock), "a") == Outcome.KEPT and len(store.answers(CODE, 1)) == 1
    with sqlite3.connect(tmp_path / "classes.sqlite3") as other:
        other.execute("CREATE TABLE class (something TEXT)")
        other.execute("PRAGMA user_version = 99")
    store = SqliteStore(tmp_path / "classes.sqlite3")
    store.create(asking(store))
    assert answer(store, "a") == Outcome.KEPT


class Model:
    """A store in dictionaries: `answers[round, participant]`, and the participants `inside`."""

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
def test_a_store_does_what_the_model_does_in_any_order(store, clock, seed):
    chance = random.Random(seed)
    store.create(asking(store, 3))
    model = Model(store.read(CODE))
    for _ in range(150):
        act, who, at = chance.choice(("answer",) * 6 + ("admit", "phase", "lock")), chance.choice("abcdef"), store.now()
        if act == "answer":
            number, choice = chance.choice((2, 3, 3, 3, 4)), chance.choice(("0", "1", "0,2", ""))
            assert answer(store, who, choice, number) == model.answer(number, who, choice, at)
        elif act == "admit":
            assert store.admit(CODE, who) == model.admit(who)
        elif act == "phase":
            model.phase = chance.choice((Phase.ASKING, Phase.ASKING, Phase.CLOSED, Phase.REVEALED))
            store.change(CODE, put(model.phase))
        else:
            model.locked = not model.locked
            store.change(CODE, lambda old: replace(old, locked=model.locked))
        clock.ahead += chance.choice((0, 0, 0.4, 1.1))
    stored = {(each.round, each.participant): (each.choice, each.at) for n in (2, 3) for each in store.answers(CODE, n)}
    assert stored == model.answers and len(store.seen_since(CODE, 0)) == len(model.inside)


def test_stores_that_share_a_file_take_answers_side_by_side_until_the_round_is_closed(store, tmp_path):
    store.create(asking(store))

    def acknowledged(server: int) -> set[str]:
        other, participants = SqliteStore(tmp_path / "classes.sqlite3"), set()
        for number in itertools.count():
            participant = f"{server}.{number % 90}"
            if answer(other, participant) != Outcome.KEPT:
                return participants
            participants.add(participant)

    with ThreadPoolExecutor(3) as threads:
        servers = [threads.submit(acknowledged, server) for server in range(3)]
        until(lambda: len({each.participant[0] for each in store.answers(CODE, 1)}) == 3)
        store.change(CODE, put(Phase.CLOSED))
        closed = {each.participant for each in store.answers(CODE, 1)}
        assert set().union(*(server.result() for server in servers)) == closed
