"""A quiz of a class over HTTP: phones see their own items and answers alone, and the table has all answers."""

import csv
import io

import pytest
from support.classes import Phone, served

from headlight.classroom import PER_FORM, Phase, Quiz, QuizItem

OPTIONS, WRONG = ("one", "two", "three", "four"), ("", "first", "second", "third")
ITEMS = tuple(
    QuizItem(f"{form}{number}", "idea", "fact", form, f"Item {number} of {form}?", OPTIONS, WRONG)
    for form in "AB"
    for number in range(PER_FORM)
)
BEFORE, AFTER = (Quiz(when, ITEMS, {"place": "{number} of {of}"}) for when in ("before", "after"))
ALL = [0, 1, 2, 3, 0, 1]


@pytest.fixture
def phones(store, teacher):
    with served(lambda: store) as address:
        yield [Phone(address, teacher.code) for _ in range(2)]


def test_nothing_of_another_phones_answers_or_of_what_is_right_reaches_a_phone(phones, teacher):
    first, second = phones
    acts = (lambda: teacher.ask_quiz(BEFORE, "Six"), teacher.close_round, lambda: teacher.ask_quiz(AFTER, "Six"))
    for act in acts:
        number = len(act().rounds)
        before = [first.state(known) for known in range(5)]  # whichever version of the class it knows
        second.answer(number, ALL)
        assert [first.state(known) for known in range(5)] == before
        assert not any(secret in str(before) for secret in (*WRONG[1:], "'right'", "counts", "misconception"))
    teacher.reveal()
    assert teacher.look().classroom.phase == Phase.LOBBY, "nothing is revealed"


def test_answers_come_one_by_one_and_are_there_after_a_reload(phones, store, teacher, clock):
    phone = phones[0]
    teacher.ask_quiz(BEFORE, "Six questions")
    _, content = phone.state()
    assert len(content["items"]) == PER_FORM and content["texts"] == BEFORE.texts
    assert phone.state(content["v"])[0] == 204
    assert all(item.keys() == {"text", "options"} for item in content["items"])
    answers = [None] * PER_FORM
    for at, choice in enumerate(ALL):
        clock.ahead += 2
        answers[at] = choice
        assert phone.answer(1, answers)[0] == 200
        assert phone.state()[1]["yours"] == answers
        assert teacher.look().tally.answered == (at == PER_FORM - 1), "those who are done"
    for wrong in (ALL[1:], [*ALL[1:], 4], [*ALL[1:], True], [*ALL[1:], "0"], 0, None):
        assert phone.answer(1, wrong)[0] == 400
    assert {phone.state()[1]["kind"], teacher.look().classroom.phase} == {"quiz", "asking"}


def test_the_table_has_a_row_for_each_answered_item(phones, teacher, clock):
    teacher.ask_quiz(BEFORE, "Six questions")
    phones[0].answer(1, ALL)
    phones[1].answer(1, [None, 1, None, None, None, None])
    teacher.close_round()
    assert phones[1].answer(1, ALL)[0] == 409
    teacher.ask_quiz(AFTER, "Six questions")
    phones[0].answer(2, ALL)
    rows = list(csv.DictReader(io.StringIO(teacher.csv().decode())))
    assert [row["quiz"] for row in rows].count("before") == PER_FORM + 1 and len(rows) == 2 * PER_FORM + 1
    whole = [row for row in rows if row["participant"] == rows[-1]["participant"]]
    assert [OPTIONS.index(row["answer"]) for row in whole] == 2 * ALL
    assert [row["right"] for row in whole[:PER_FORM]] == ["yes" if choice == 0 else "no" for choice in ALL]
    assert [row["misconception"] for row in whole[:PER_FORM]] == [WRONG[choice] for choice in ALL]
    assert {row["form"] for row in whole[:PER_FORM]} ^ {row["form"] for row in whole[PER_FORM:]} == {"A", "B"}
