"""Admission to a class: limits per address, removal by the teacher, and routes under attack."""

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from support.classes import Phone, served
from support.server import until

from headlight.classroom import NoRoomError, Question, Teacher, admission, open_class, sqlite_store
from headlight.classroom.admission import ARRIVAL_SECONDS, ARRIVALS, RateLimit, hash_participant
from headlight.classroom.store import AWAY, IDLE, LASTS, MOST_PARTICIPANTS, MOST_REMOVED, ClassError, Outcome
from headlight.classroom.teaching import sign_of

WORD = Question("Which word is read most?", ("cat", "dog", "bird"))
CLASS = 35


@pytest.fixture
def address(store):
    with served(lambda: store) as address:
        yield address


def sign(teacher: Teacher, phone: Phone) -> str:
    return sign_of(hash_participant(teacher.look().classroom, phone.number))


def are_in(phones: list[Phone]) -> bool:
    """Let each phone ask once, as its page does every two seconds; return whether all are in."""
    return [phone.ask(f"/{phone.code}/state", participant=phone.number)[0] for phone in phones] == [200] * len(phones)


@contextmanager
def flood(address: str, code: str) -> Iterator[None]:
    """Answer with a new invented number each time, in four threads."""
    stopped = threading.Event()

    def answer_on() -> None:
        phone = Phone(address, code)
        while not stopped.is_set():
            phone.number = secrets.token_hex(8)
            phone.ask(f"/{code}/answer", "POST", '{"round": 1, "choice": 0}', participant=phone.number)

    threads = [threading.Thread(target=answer_on) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stopped.set()
        for thread in threads:
            thread.join()


def test_a_flood_from_one_address_keeps_nobody_out_and_has_no_vote(address, teacher, monkeypatch):
    monkeypatch.setattr(admission, "ASK_AGAIN", 0.8)
    teacher.ask(WORD)
    before, late = ([Phone(address, teacher.code) for _ in range(CLASS)] for _ in range(2))
    until(lambda: are_in(before))
    with flood(address, teacher.code):
        assert are_in(before), "whoever is in stays in"
        until(lambda: are_in(late), seconds=60)
        teacher.empty()
        until(lambda: are_in([*before, *late]), seconds=60)
    assert [phone.answer(1, 1)[0] for phone in before] == [200] * CLASS
    assert teacher.look().tally.counts == (0, CLASS, 0) and teacher.look().here == 2 * CLASS


def test_newcomers_from_one_address_are_limited(address, teacher, clock):
    newcomer = Phone(address, teacher.code)
    statuses = []
    for number in range(ARRIVALS + 2):
        newcomer.number = f"{number:016x}"
        statuses.append(newcomer.state()[0])
    assert statuses == [200] * ARRIVALS + [429] * 2 and newcomer.response.headers["Retry-After"]
    clock.ahead += ARRIVAL_SECONDS
    assert newcomer.state()[0] == 200


def test_a_class_that_nobody_is_in_makes_room_for_another(store, teacher, clock, monkeypatch):
    monkeypatch.setattr(sqlite_store, "MOST_CLASSES", 3)
    store.admit(teacher.code, "phone")
    idle, other = open_class(store), open_class(store)
    store.admit(other.code, "phone")
    third = open_class(store)
    assert store.read(idle.code) is None and store.read(teacher.code) and store.read(other.code)
    store.admit(third.code, "phone")
    with pytest.raises(NoRoomError):
        open_class(store)
    clock.ahead += AWAY + 1
    open_class(store)
    assert store.read(teacher.code) is None, "the one longest without an act"


def test_a_limit_counts_each_key_by_itself_and_forgets():
    now = 0.0
    limit = RateLimit(10, 60.0, lambda: now)
    assert [limit.is_exceeded("a") for _ in range(12)] == [False] * 10 + [True] * 2
    assert not limit.is_exceeded("b")
    now = 59.0
    assert limit.is_exceeded("a")
    now = 61.0
    assert not limit.is_exceeded("a")
    for number in range(30_000):
        limit.is_exceeded(f"address {number}")
    assert len(limit._times) <= 10_000


def test_absent_participants_make_room_and_present_ones_do_not(address, store, teacher, clock):
    phone = Phone(address, teacher.code)
    assert phone.state()[0] == 200
    clock.ahead += AWAY + 1
    for number in range(MOST_PARTICIPANTS):
        assert store.admit(teacher.code, str(number)) == Outcome.KEPT
    assert phone.state()[0] == 403, "full"
    clock.ahead += AWAY + 1
    store.note_seen(teacher.code, {str(number): clock() for number in range(MOST_PARTICIPANTS - 2)})
    assert phone.state()[0] == 200, "admitted anew"
    assert [store.admit(teacher.code, late) for late in ("b", "c")] == [Outcome.KEPT, Outcome.FULL]
    assert store.admit(teacher.code, "0") == Outcome.KEPT


def test_a_removed_participant_stays_out_and_their_open_answer_goes(address, teacher):
    teacher.ask(WORD)
    clown, pupil = (Phone(address, teacher.code) for _ in range(2))
    assert clown.answer(1, 0)[0] == pupil.answer(1, 1)[0] == 200
    assert clown.state()[1]["me"] == sign(teacher, clown) in teacher.look().signs
    teacher.remove(sign(teacher, clown))
    assert clown.state()[0] == clown.answer(1, 0)[0] == 403
    assert "removed" in clown.state()[1]["error"]
    assert teacher.look().tally.counts == (0, 1, 0) and teacher.look().signs == (sign(teacher, pupil),)
    version = teacher.look().classroom.version
    assert teacher.remove("nobody").version == version
    teacher.reveal()
    teacher.remove(sign(teacher, pupil))
    assert teacher.look().tally.answered == 1, "what was revealed stays"


def test_an_emptied_room_fills_again_and_its_open_answers_are_gone(address, teacher):
    teacher.ask(WORD)
    phones = [Phone(address, teacher.code) for _ in range(3)]
    for phone in phones:
        assert phone.answer(1, 0)[0] == 200
    teacher.remove(sign(teacher, phones[2]))
    teacher.lock()
    known = teacher.look().classroom.version
    teacher.empty()
    assert teacher.look().here == 0 == teacher.look().tally.answered
    for phone in phones:
        status, state = phone.state(known)
        assert status == 200 and state["yours"] is None and state["me"] == sign(teacher, phone)
    assert phones[0].answer(1, 2)[0] == 200 and teacher.look().tally.counts == (0, 0, 1)


def test_so_many_are_removed_one_by_one_and_no_more(teacher, store):
    for number in range(MOST_REMOVED + 1):
        store.admit(teacher.code, str(number))
    signs = [sign_of(str(number)) for number in range(MOST_REMOVED + 1)]
    for each in signs[:MOST_REMOVED]:
        teacher.remove(each)
    with pytest.raises(ClassError, match="empty the room"):
        teacher.remove(signs[-1])
    assert not teacher.empty().removed


def test_a_class_lives_for_an_hour_after_the_last_act_and_never_longer_than_it_may(teacher, store, clock):
    for _ in range(20):
        clock.ahead += IDLE - 1
        if store.read(teacher.code) is None:
            break
        teacher.ask(WORD)
    assert LASTS - IDLE < clock.ahead <= LASTS + IDLE
    idle = open_class(store)
    clock.ahead += IDLE + 1
    assert store.read(idle.code) is None
