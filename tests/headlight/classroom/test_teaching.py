"""Acts of a class's teacher: phases, versions, secrets, tallies and tables."""

import csv
import io
import itertools
import random
import re
from collections.abc import Callable

import pytest

from headlight.classroom import Teacher, open_class, read_code, teaching
from headlight.classroom.store import (
    IDLE,
    MOST_ROUNDS,
    Answer,
    ClassError,
    CodeTakenError,
    Kind,
    NoClassError,
    NoRoomError,
    NotTheTeacherError,
    Outcome,
    Phase,
    Question,
    Truth,
)

WORD = Question("Which word is read most?", ("cat", "dog", "bird"))
TRUTH = Truth("It is the dog.", right=(1,), feedback=("The cat has .1.", "Right: .8.", "The bird has .1."))
SEVERAL = Question("Which can be hidden?", ("the", "red", "dog", "."), Kind.SEVERAL)
NUMBER = Question("How many tokens?", kind=Kind.NUMBER)
ACTS: dict[str, Callable[[Teacher], object]] = {
    "look": Teacher.look,
    "ask": lambda teacher: teacher.ask(WORD, TRUTH),
    "ask again": Teacher.ask_again,
    "close": Teacher.close_round,
    "reveal": Teacher.reveal,
    "discard": Teacher.discard,
    "wait": Teacher.wait,
    "lock": Teacher.lock,
    "count hands": lambda teacher: teacher.count_hands((1, 2, 3)),
    "go": lambda teacher: teacher.go("mask", 2),
    "tally": lambda teacher: teacher.tally(1),
    "csv": Teacher.csv,
    "end": Teacher.end,
}


def say(store, teacher: Teacher, number: int, **choices: object) -> None:
    """Participants answer in a round, by their names."""
    question = teacher.look().classroom.rounds[number - 1].question
    for name, choice in choices.items():
        answer = Answer(round=number, participant=name, choice=question.read_choice(choice), at=store.now())
        assert store.answer(teacher.code, answer) == Outcome.KEPT


def table(teacher: Teacher) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(teacher.csv().decode())))


def test_codes_cannot_be_misread_and_are_read_however_they_are_typed(store):
    codes = {open_class(store).code for _ in range(150)}
    assert len(codes) == 150
    assert all(re.fullmatch(r"[2-9A-Z]{5}", code) for code in codes)
    used = set().union(*codes)
    assert not used & set("AEIOUY01")
    for alike in ("B8", "0DOQ", "5S", "6G", "1IL", "2Z", "UV"):
        assert len(used & set(alike)) <= 1, alike
    assert len(teaching.ALPHABET) ** teaching.LENGTH > 3e6
    code = next(iter(codes))
    assert {read_code(each) for each in (code.lower(), f" {code[:2]} {code[2:]}\n", "-".join(code))} == {code}
    for wrong in ("", code[:4], f"{code}2", "ABCDE", "CDFH\u0130", "😀" * 5, "C" * 10_000):
        assert read_code(wrong) == ""


def test_a_class_goes_from_phase_to_phase(store):
    teacher = open_class(store, "attention", 3)
    classroom = teacher.look().classroom
    assert (classroom.phase, classroom.lesson, classroom.step) == (Phase.LOBBY, "attention", 3)
    assert teacher.look().tally is None and classroom.current is None
    assert teacher.close_round() == teacher.reveal() == teacher.discard() == teacher.wait() == classroom
    with pytest.raises(ClassError, match="Nothing has been asked"):
        teacher.ask_again()
    first = teacher.ask(WORD, TRUTH, "attention.4")
    assert first.phase == Phase.ASKING and first.current.question == WORD and first.current.closed is None
    closed = teacher.close_round()
    assert closed.phase == Phase.CLOSED and closed.current.closed >= first.current.opened
    assert teacher.close_round() == closed, "a second press changes nothing"
    revealed = Teacher(store, teacher.code.lower(), teacher.secret).reveal()
    assert revealed.phase == Phase.REVEALED and revealed.current == closed.current and teacher.reveal() == revealed
    again = teacher.ask_again().current
    assert (again.number, again.step, again.truth) == (2, "attention.4", TRUTH)
    assert teacher.reveal().current.closed is not None, "revealed while it was open"
    assert teacher.ask(NUMBER, Truth(value=7)).current.number == 3
    assert teacher.ask(SEVERAL).rounds[2].closed is not None, "an open round is closed by the next question"
    assert teacher.wait().phase == Phase.LOBBY and teacher.look().classroom.rounds[3].closed is not None
    moved = teacher.go("mask", 1)
    assert (moved.lesson, moved.step) == ("mask", 1) and teacher.go("mask", 1) == moved
    assert teacher.lock().locked and not teacher.lock(False).locked


def test_each_change_has_a_version_of_its_own(teacher):
    chance, last = random.Random(1), teacher.look().classroom
    acts = {name: act for name, act in ACTS.items() if name not in ("end", "tally", "count hands")}
    for _ in range(60):
        name = chance.choice(list(acts)) if last.rounds else "ask"
        acts[name](teacher)
        now = teacher.look().classroom
        assert now.version == last.version + (now != last), name
        last = now


@pytest.mark.parametrize("name", ACTS)
def test_nothing_is_done_without_the_secret_or_after_the_end(store, teacher, name):
    teacher.ask(WORD, TRUTH)
    before = store.read(teacher.code)
    for wrong in ("", "x", "é\ud800", open_class(store).secret, before.teacher):
        with pytest.raises(NotTheTeacherError) as caught:
            ACTS[name](Teacher(store, teacher.code, wrong))
        assert store.read(teacher.code) == before
        assert teacher.secret not in str(caught.value) and teacher.secret not in before.document()
    assert teacher.end().phase == Phase.ENDED
    for late in (teacher, Teacher(store, "no code'\"\ud800", teacher.secret)):
        with pytest.raises(NoClassError):
            ACTS[name](late)


def test_a_tally_counts_each_round_by_itself(store, teacher, clock):
    teacher.ask(WORD, TRUTH)
    say(store, teacher, 1, a=0, b=1, c=1, d=2)
    tally = teacher.look().tally
    assert (tally.answered, tally.counts, tally.right) == (4, (1, 2, 1), 2)
    teacher.ask_again()
    clock.ahead += 2
    say(store, teacher, 2, a=1, b=1)
    assert teacher.look().tally.counts == (0, 2, 0) and teacher.tally(1) == tally
    teacher.ask(SEVERAL, Truth(right=(0, 3)))
    say(store, teacher, 3, a=[3, 0], b=[0], c=[], d=[0, 1, 2, 3])
    tally = teacher.look().tally
    assert (tally.answered, tally.counts, tally.right) == (4, (3, 1, 1, 2), 1)
    teacher.ask(NUMBER, Truth(value=0.5, margin=0.1))
    say(store, teacher, 4, a=0.55, b=-3, c=0.61, d=1e9)
    tally = teacher.look().tally
    assert (tally.answered, tally.numbers, tally.right, tally.counts) == (4, (-3.0, 0.55, 0.61, 1e9), 1, ())
    teacher.ask(Question("Do you like it?", ("yes", "no")))
    say(store, teacher, 5, a=0)
    assert teacher.look().tally.right is None
    with pytest.raises(ClassError, match="no round 6"):
        teacher.tally(6)


def test_raised_hands_count_beside_the_answers_of_phones_and_in_the_table(store, teacher, clock):
    teacher.ask(WORD, TRUTH)
    say(store, teacher, 1, ada=1, bob=0)
    clock.ahead += 10
    teacher.count_hands((9, 9, 9))
    closed = teacher.count_hands((3, 4, 0))
    assert closed.current.hands == (3, 4, 0) == store.read(teacher.code).current.hands
    tally = teacher.look().tally
    assert (tally.answered, tally.counts, tally.right) == (9, (4, 5, 0), 5)
    teacher.close_round()
    hands = [row for row in table(teacher) if row["participant"] == "0"]
    assert sorted(row["answer"] for row in hands) == ["cat"] * 3 + ["dog"] * 4
    assert all((row["right"] == "yes") == (row["answer"] == "dog") for row in hands)
    teacher.ask_again()
    assert teacher.look().tally.answered == 0, "a round has hands of its own"
    for wrong in ((1, 2), (1, 2, -1), (1, 2, 1000), ()):
        with pytest.raises(ClassError):
            teacher.count_hands(wrong)
    teacher.reveal()
    with pytest.raises(ClassError):
        teacher.count_hands((1, 2, 3))
    for question in (SEVERAL, NUMBER):
        teacher.ask(question)
        with pytest.raises(ClassError):
            teacher.count_hands((1, 2, 3))


def test_a_participant_is_present_for_half_a_minute(store, teacher, clock):
    for name in "abc":
        store.admit(teacher.code, name)
    clock.ahead += 29
    assert teacher.look().here == 3
    clock.ahead += 2
    store.note_seen(teacher.code, {"b": store.now()})
    assert teacher.look().here == 1


def test_the_table_has_every_answer_that_counts_and_names_participants_by_numbers(store, teacher, clock):
    teacher.ask(WORD, TRUTH, "attention.4")
    clock.ahead += 4
    say(store, teacher, 1, beta=1, alpha=0)
    teacher.ask(NUMBER)
    say(store, teacher, 2, gamma=3)
    teacher.discard()
    teacher.ask(SEVERAL, Truth(right=(1,)), "mask.1")
    say(store, teacher, 3, beta=[1, 2], delta=[])
    assert teacher.look().classroom.current.number == 3 and teacher.look().classroom.rounds[1].discarded
    assert [tuple(row.values())[:7] for row in table(teacher)] == [
        ("1", "attention.4", WORD.text, "1", "cat", "no", "4.0"),
        ("1", "attention.4", WORD.text, "2", "dog", "yes", "4.0"),
        ("3", "mask.1", SEVERAL.text, "2", "red, dog", "no", "0.0"),
        ("3", "mask.1", SEVERAL.text, "3", "", "no", "0.0"),
    ]
    assert not any(tuple(row.values())[7:] != ("",) * 6 for row in table(teacher)), "of a quiz"


@pytest.mark.parametrize("text", ["=1+1", '=HYPERLINK("http://x")', "+1", "-1+1", "@SUM(A1)", "'=1", "''@x"])
def test_no_cell_of_the_table_is_calculated(store, teacher, text):
    teacher.ask(Question(text, (text, "other")), Truth(right=(0,)), text)
    say(store, teacher, 1, **{text: 0})
    (row,) = table(teacher)
    assert row["question"] == row["answer"] == row["step"] == f"'{text}" and row["participant"] == "1"


@pytest.mark.parametrize(
    "question, wrong",
    [
        (WORD, [None, "0", True, 3, -1, 0.0, [0], {}, {"0": 1}, 10**400, float("nan")]),
        (SEVERAL, [None, "0", 0, [0, 0], [4], [True], [[]], [0.0], {}, list(range(5))]),
        (NUMBER, [None, "1", True, [1], float("nan"), -float("inf"), 10**400, 1e15]),
    ],
    ids=lambda each: getattr(each, "kind", ""),
)
def test_malformed_answers_are_refused(question, wrong):
    for choice in wrong:
        with pytest.raises(ValueError):
            question.read_choice(choice)


def test_malformed_questions_are_refused_and_answers_are_written_alike():
    refused = (Kind.ONE, ()), (Kind.ONE, ("alone",)), (Kind.SEVERAL, ("x",) * 9), (Kind.NUMBER, "12"), ("essay", "ab")
    for kind, options in refused:
        with pytest.raises(ValueError):
            Question("?", tuple(options), kind)
    assert [WORD.read_choice(2), SEVERAL.read_choice([3, 1]), SEVERAL.read_choice([])] == ["2", "1,3", ""]
    assert [NUMBER.read_choice(each) for each in (3, -0.25, 1 / 3)] == ["3", "-0.25", "0.333333"]


@pytest.mark.parametrize(
    "link", ["//evil.example", "https://evil.example", "/x", "a\\b", "a b", "javascript:alert(1)", "x?a\r\nb", "a/../b"]
)
def test_a_link_leads_nowhere_but_into_the_app(link):
    with pytest.raises(ValueError):
        Truth(link=link)
    assert Truth(link="what_if?text=%2F%2Fevil&lesson=a.1").link


def test_texts_are_one_line_of_a_bounded_length_without_control_characters():
    question = Question(" a\nb\x00\u202ec\u2028d ", ("x" * 5000, "y"))
    assert question.text == "a b c d" and len(question.options[0]) == 200
    assert len(Question("z" * 5000, ("x", "y")).text) == 600
    assert len(Truth("z" * 5000).sentence) == 600


def test_feedback_is_on_the_participants_choice():
    assert [TRUTH.feedback_on(WORD, choice) for choice in ("0", "1", None)] == [*TRUTH.feedback[:2], TRUTH.sentence]
    assert Truth("All.", feedback=("a",)).feedback_on(WORD, "0") == "All.", "feedback of another question"
    assert Truth("All.", feedback=("", "b", "c")).feedback_on(WORD, "0") == "All."
    assert TRUTH.feedback_on(NUMBER, "3") == TRUTH.sentence


def test_a_class_has_a_limit_of_rounds_and_the_search_for_a_code_ends(store, teacher, monkeypatch):
    for _ in range(MOST_ROUNDS):
        teacher.ask(NUMBER)
    with pytest.raises(NoRoomError):
        teacher.ask(NUMBER)
    assert teacher.look().classroom.ends - teacher.look().classroom.opened == IDLE
    letters = itertools.cycle(teacher.code)
    monkeypatch.setattr(teaching.secrets, "choice", lambda _: next(letters))
    with pytest.raises(CodeTakenError):
        store.create(store.read(teacher.code))
    with pytest.raises(NoRoomError, match="No code"):
        open_class(store)
