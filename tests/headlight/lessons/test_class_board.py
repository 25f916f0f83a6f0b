"""The teacher's screen in each phase: no choice of anybody before the teacher wants the histogram."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headlight.app import results
from headlight.app.results import TranslationRequest
from headlight.classroom import Kind, Question, Tally, Teacher, Truth, open_class
from headlight.classroom.store import Answer
from headlight.lessons.teach.asking import ClassQuestion, link_to
from headlight.lessons.teach.board import Screen, acts, binned, board, same_before
from headlight.lessons.teach.summary import cells_of

REQUEST = TranslationRequest(results.checkpoint("en-de"), "I love my teacher.")
LINK = link_to("decoding", REQUEST, {})
QUESTION = ClassQuestion(
    Question("Which?", ("left", "middle", "far right", "none"), about=REQUEST.text),
    Truth("It is the middle.", right=(1,), feedback=("No.", "Yes.", "No.", "No."), link=LINK),
    "attention.2",
)
OWN = ClassQuestion(Question("Own?", ("Yes", "No")), Truth(link=LINK))
SCREEN = Screen("decoding", REQUEST, "attention", title="What is attention?", step=2, of=7, question=QUESTION)


@pytest.fixture
def teacher(store) -> Teacher:
    return open_class(store, "attention", 1)


def ask(teacher: Teacher, question: ClassQuestion = QUESTION) -> int:
    return teacher.ask(question.question, question.truth, question.step).current.number


def answer(store, teacher: Teacher, number: int, *choices: str) -> None:
    for at, choice in enumerate(choices):
        store.answer(teacher.code, Answer(round=number, participant=f"p{at}", choice=choice, at=store.now()))


def shown(teacher: Teacher, screen: Screen = SCREEN, before=(), bars: bool = False) -> dict:
    return json.loads(json.dumps(board(teacher.look(), screen, before, bars=bars)))


def test_from_the_lobby_to_the_reveal(store, teacher):
    lobby = shown(teacher)
    assert lobby["acts"] == ["ask", "next"] and "question" not in lobby and lobby["here"] == 0
    ask(teacher)
    answer(store, teacher, 1, "1", "1", "2")
    asking = shown(teacher, bars=True)
    assert asking["acts"] == ["close", "reveal", "next"] and "middle." not in json.dumps(asking)
    assert asking["question"]["answered"] == 3 and asking["question"]["options"] == list(QUESTION.question.options)
    assert (asking["question"]["bars"], asking["question"]["right"], asking["question"]["truth"]) == ([], [], "")
    teacher.close_round()
    closed, seen = shown(teacher), shown(teacher, bars=True)
    assert closed["acts"] == ["bars", "reveal", "again", "next"] and closed["question"]["bars"] == []
    assert seen["acts"] == ["reveal", "again", "next"] and seen["question"]["right"] == []
    teacher.reveal()
    revealed = shown(teacher, replace(SCREEN, request=replace(REQUEST, text="Another one.")))
    assert revealed["acts"] == ["next", "again"] and revealed["question"]["about"] == REQUEST.text
    assert (revealed["question"]["right"], revealed["question"]["truth"]) == ([1], "It is the middle.")
    assert "question" not in shown(teacher, replace(SCREEN, page="lessons")), "the wall would cover the summary"
    assert revealed["question"]["bars"] == seen["question"]["bars"] == [[0, 2, 1, 0]]
    teacher.wait()
    assert shown(teacher)["acts"] == ["ask", "next"]


def test_rounds_of_one_question_stand_side_by_side_and_no_others(store, teacher):
    ask(teacher, OWN)
    answer(store, teacher, ask(teacher), "0", "0")
    answer(store, teacher, teacher.ask_again().current.number, "3")
    teacher.discard()
    answer(store, teacher, teacher.ask_again().current.number, "1", "0", "1")
    teacher.close_round()
    before = [teacher.tally(each.number) for each in same_before(teacher.look().classroom)]
    seen = shown(teacher, before=before, bars=True)["question"]
    assert seen["bars"] == [[2, 0, 0, 0], [1, 2, 0, 0]] and seen["time"] == 2
    other = replace(QUESTION.truth, link=link_to("decoding", replace(REQUEST, text="x"), {}))
    ask(teacher, replace(QUESTION, truth=other))
    assert same_before(teacher.look().classroom) == [], "the same words about another sentence"


def test_possible_acts_depend_on_the_page(teacher):
    classroom, elsewhere = teacher.look().classroom, Screen("masks", REQUEST, question="None here.")
    assert acts(classroom, replace(SCREEN, question="Undecided."), False) == ["next"]
    assert acts(classroom, replace(SCREEN, away=True), False) == ["back", "ask", "next"]
    assert acts(classroom, elsewhere, False) == ["back"] and acts(replace(classroom, lesson=""), elsewhere, False) == []
    ask(teacher, OWN)
    assert acts(teacher.reveal(), SCREEN, True) == ["next", "ask", "again"]


@given(st.lists(st.lists(st.floats(-1e9, 1e9), max_size=40), min_size=1, max_size=3))
def test_numbers_are_binned_without_loss(rounds):
    labels, counts = binned(rounds)
    assert len(labels) <= 6 and {len(each) for each in counts} == {len(labels)}
    assert [sum(each) for each in counts] == list(map(len, rounds))


def test_a_joker_takes_no_room_and_few_numbers_have_a_bar_each():
    _, counts = binned([[0.1 * at for at in range(40)], [1.0, 1.5, 2.0, 2.5, 1e9]])
    assert max(counts[0]) < 20
    assert binned([[2.0, 2.0, 1.0]]) == (["1", "2"], [[1, 2]]) and binned([[], []]) == ([], [[], []])


def test_a_round_has_a_row_with_its_counts_or_numbers(store, teacher):
    truth = Truth("It is 2.", value=2.0, margin=0.1, link=LINK)
    ask(teacher, ClassQuestion(Question("How much?", kind=Kind.NUMBER), truth))
    answer(store, teacher, 1, "2", "2.05", "7", "2")
    revealed = teacher.reveal()
    seen = shown(teacher)["question"]
    assert seen["labels"] == ["2", "2.05", "7"] and seen["bars"] == [[2, 1, 1]]
    cells = cells_of(revealed.current, teacher.tally(1))
    assert cells[:4] == ("How much?", "4", "lowest 2, middle 2.05, highest 7\n✓ right: 2", "3 of 4")
    answer(store, teacher, ask(teacher), "1", "0")
    closed = teacher.close_round()
    row = cells_of(replace(closed.current, opened=10.0, closed=31.4), teacher.tally(2))
    assert row == ("Which?", "2", "left: 1\n✓ middle: 1\nfar right: 0\nnone: 0", "1 of 2", "21 s")
    assert cells_of(closed.current, Tally(0, (0, 0, 0, 0)))[3] == ""
