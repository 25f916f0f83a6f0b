"""What the teacher's screen has in each phase: nothing of who chose what before she wants it seen."""

import json
from dataclasses import replace

import pytest

from headlight.app import results
from headlight.app.results import TranslationRequest
from headlight.classroom import Kind, Phase, Question, Tally, Teacher, Truth, open_class
from headlight.classroom.sqlite_store import SqliteStore
from headlight.classroom.store import Answer
from headlight.lessons.teach.asking import Asked, link_to
from headlight.lessons.teach.board import Place, acts, binned, board, same_before
from headlight.lessons.teach.summary import cells_of

REQUEST = TranslationRequest(results.checkpoint("en-de"), "I love my teacher.")
LINK = link_to("decoding", REQUEST, {})
ASKED = Asked(
    Question("Which?", ("left", "middle", "far right", "none")),
    Truth("It is the middle.", right=(1,), feedback=("No.", "Yes.", "No.", "No."), link=LINK),
    "attention.2",
)
PLACE = Place("decoding", REQUEST, "attention", title="What is attention?", step=2, of=7, question=ASKED)


@pytest.fixture
def store(tmp_path):
    found = SqliteStore(tmp_path / "classes.sqlite3")
    yield found
    found.close()


@pytest.fixture
def teacher(store) -> Teacher:
    return open_class(store, "attention", 1)


def ask(teacher: Teacher, asked: Asked = ASKED) -> int:
    return teacher.ask(asked.question, asked.truth, asked.step).current.number


def answer(store, teacher: Teacher, number: int, *choices: str) -> None:
    for at, choice in enumerate(choices):
        store.answer(teacher.code, Answer(round=number, participant=f"p{at}", choice=choice, at=store.now()))


def shown(teacher: Teacher, place: Place = PLACE, before=(), bars: bool = False) -> dict:
    return json.loads(json.dumps(board(teacher.look(), place, before, bars=bars)))


def test_from_the_lobby_to_the_reveal(store, teacher):
    lobby = shown(teacher)
    assert lobby["acts"] == ["ask", "next"] and "asked" not in lobby and lobby["here"] == 0
    number = ask(teacher)
    answer(store, teacher, number, "1", "1", "2")
    asking = shown(teacher, bars=True)
    assert asking["acts"] == ["close", "reveal", "next"]
    assert asking["asked"]["answered"] == 3 and asking["asked"]["options"] == list(ASKED.question.options)
    assert (asking["asked"]["bars"], asking["asked"]["right"], asking["asked"]["told"]) == ([], [], "")
    assert "middle." not in json.dumps(asking)
    teacher.close_round()
    closed = shown(teacher)
    assert closed["acts"] == ["bars", "reveal", "again", "next"] and closed["asked"]["bars"] == []
    seen = shown(teacher, bars=True)
    assert seen["acts"] == ["reveal", "again", "next"]
    assert seen["asked"]["bars"] == [[0, 2, 1, 0]] and seen["asked"]["right"] == []
    teacher.reveal()
    revealed = shown(teacher)
    assert revealed["acts"] == ["next", "again"]
    assert (revealed["asked"]["right"], revealed["asked"]["told"]) == ([1], "It is the middle.")
    assert revealed["asked"]["bars"] == [[0, 2, 1, 0]]
    teacher.wait()
    assert shown(teacher)["acts"] == ["ask", "next"]


def test_rounds_of_one_question_stand_side_by_side_and_no_others(store, teacher):
    other = Asked(Question("Other?", ("a", "b")), Truth(link=LINK))
    ask(teacher, other)
    answer(store, teacher, ask(teacher), "0", "0")
    answer(store, teacher, teacher.ask_again().current.number, "3")
    teacher.discard()
    answer(store, teacher, teacher.ask_again().current.number, "1", "0", "1")
    teacher.close_round()
    before = [teacher.tally(each.number) for each in same_before(teacher.look().classroom)]
    seen = shown(teacher, before=before, bars=True)["asked"]
    assert seen["bars"] == [[2, 0, 0, 0], [1, 2, 0, 0]] and seen["time"] == 2
    ask(teacher, replace(ASKED, truth=replace(ASKED.truth, link=link_to("decoding", replace(REQUEST, text="x"), {}))))
    assert same_before(teacher.look().classroom) == [], "the same words about another sentence"


def test_the_sentence_of_a_question_stays_whatever_the_bar_has(teacher):
    ask(teacher, replace(ASKED, question=replace(ASKED.question, about=REQUEST.text)))
    moved = replace(PLACE, request=replace(REQUEST, text="Another one."))
    for act in (lambda: None, teacher.close_round, teacher.reveal):
        act()
        assert shown(teacher)["asked"]["about"] == shown(teacher, moved)["asked"]["about"] == REQUEST.text


def test_what_can_be_done_where(teacher):
    classroom = teacher.look().classroom
    assert acts(classroom, replace(PLACE, question="Undecided."), False) == ["next"]
    assert acts(classroom, replace(PLACE, away=True), False) == ["back", "ask", "next"]
    assert acts(classroom, Place("masks", REQUEST, question="None here."), False) == ["back"]
    assert acts(replace(classroom, lesson=""), Place("masks", REQUEST, question="None here."), False) == []
    ask(teacher, Asked(Question("Own?", ("Yes", "No")), Truth(link=LINK)))
    revealed = teacher.reveal()
    assert acts(revealed, PLACE, True)[0] == "next" and "ask" in acts(revealed, PLACE, True)


def test_numbers_are_binned_without_loss_and_a_joker_takes_no_room():
    first, second = [0.1 * at for at in range(40)], [1.0, 1.5, 2.0, 2.5, 1e9]
    labels, counts = binned([first, second])
    assert len(labels) == len(counts[0]) == len(counts[1]) <= 6
    assert sum(counts[0]) == 40 and sum(counts[1]) == 5 and max(counts[0]) < 20
    assert binned([[2.0, 2.0, 1.0]]) == (["1", "2"], [[1, 2]])
    assert binned([[], []]) == ([], [[], []])
    assert binned([[3.0] * 7 + [9.0]]) == (["3", "9"], [[7, 1]])


def test_a_number_has_a_histogram_and_a_row(store, teacher):
    number = ask(
        teacher, Asked(Question("How much?", kind=Kind.NUMBER), Truth("It is 2.", value=2.0, margin=0.1, link=LINK))
    )
    answer(store, teacher, number, "2", "2.05", "7", "2")
    revealed = teacher.reveal()
    seen = shown(teacher)["asked"]
    assert seen["labels"] == ["2", "2.05", "7"] and seen["bars"] == [[2, 1, 1]]
    cells = cells_of(revealed.current, teacher.tally(number))
    assert cells[:4] == ("How much?", "4", "2 to 7, the middle one 2.05; right is 2", "3 of 4")


def test_a_round_has_a_row_with_its_counts(store, teacher):
    number = ask(teacher)
    answer(store, teacher, number, "1", "0")
    closed = teacher.close_round()
    row = cells_of(replace(closed.current, asked=10.0, closed=31.4), teacher.tally(number))
    assert row == ("Which?", "2", "left: 1 · ✓ middle: 1 · far right: 0 · none: 0", "1 of 2", "21 s")
    assert cells_of(closed.current, Tally(0, (0, 0, 0, 0)))[3] == ""
    assert closed.phase == Phase.CLOSED
