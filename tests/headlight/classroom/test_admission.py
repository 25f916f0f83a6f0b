"""Admission to a class: limits per address, removal by the teacher, and routes under attack."""

import pytest
from support.classes import Phone, served

from headlight.classroom import Question, Teacher, open_class
from headlight.classroom.admission import ARRIVAL_SECONDS, ARRIVALS, RateLimit, hash_participant
from headlight.classroom.store import AWAY, IDLE, LASTS, MOST_PARTICIPANTS, MOST_REMOVED, ClassError, Outcome
from headlight.classroom.teaching import sign_of

WORD = Question("Which word is read most?", ("cat", "dog", "bird"))
CLASS, ATTACK = 35, 100


@pytest.fixture
def address(store):
    with served(lambda: store) as address:
        yield address


def sign(teacher: Teacher, phone: Phone) -> str:
    return sign_of(hash_participant(teacher.look().classroom, phone.number))


def test_a_class_comes_in_at_once_and_an_attack_from_one_address_does_not(address, teacher, clock):
    teacher.ask(WORD)
    phones = [Phone(address, teacher.code) for _ in range(CLASS)]
    assert [phone.state()[0] for phone in phones] == [200] * CLASS
    attack = Phone(address, teacher.code)
    statuses = []
    for number in range(ATTACK):
        attack.number = f"{number:016x}"
        statuses.append(attack.answer(1, 0)[0])
    assert statuses == [200] * (ARRIVALS - CLASS) + [429] * (ATTACK - ARRIVALS + CLASS)
    assert attack.response.headers["Retry-After"]
    assert [phone.answer(1, 1)[0] for phone in phones] == [200] * CLASS, "whoever is in stays in"
    clock.ahead += ARRIVAL_SECONDS
    assert attack.answer(1, 0)[0] == 200


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
