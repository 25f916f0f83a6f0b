"""The visitor's lessons as one value: what each action makes of it."""

from dataclasses import replace

from headlight.lessons import panel
from headlight.lessons.file import read_lessons
from headlight.lessons.visit import (
    MOST_LETTERS,
    MOST_TRIES,
    Choose,
    Destination,
    Do,
    Hint,
    LessonState,
    Move,
    Note,
    Restore,
    Show,
    Start,
    Try,
    after,
)

KEY = "heads.2 A dog runs."


def state_after(*actions) -> LessonState:
    state = LessonState()
    for action in actions:
        state = after(state, action)
    return state


def test_a_choice_counts_until_the_answer_is_known():
    assert state_after(Choose(KEY, "a", False), Choose(KEY, "b", True)).tried(KEY) == Try("b", right=True)
    assert state_after(Choose(KEY, "b", True), Choose(KEY, "a", False)).tried(KEY) == Try("b", right=True)
    assert state_after(Show(KEY), Choose(KEY, "b", True)).tried(KEY) == Try(shown=True)
    assert state_after(Choose(KEY, "b", True), Show(KEY)).tried(KEY) == Try("b", right=True)
    assert state_after(Show(KEY), Do(KEY)).tried(KEY) == Try(shown=True, right=True)


def test_hints_are_taken_up_to_the_last_one():
    assert state_after(Hint(KEY, 2)).tried(KEY).hints == 1
    assert state_after(*[Hint(KEY, 2)] * 3).tried(KEY).hints == 2


def test_right_answers_of_a_lesson_count_for_any_sentence():
    state = state_after(Choose(KEY, "a", True), Do("heads.10 x"), Show("heads.3 x"), Do("heads_2.4 x"))
    assert state.answered("heads") == {2, 10} and state.answered("head") == set()


def test_attempts_of_this_visit_precede_remembered_ones():
    earlier = {KEY: {"choice": "z", "shown": True}, "heads.1 x": {"choice": 3, "hints": 9, "right": 1}}
    state = state_after(Choose(KEY, "a", False), Restore(earlier))
    assert state.tries == {KEY: Try("a"), "heads.1 x": Try(3, 3, right=True)} and state.is_restored
    hostile = {"k" * (MOST_LETTERS + 1): {}, "heads.1 x": "text", "heads.2 x": {"hints": -1}}
    assert state_after(Restore(hostile)).tries == {"heads.2 x": Try()}
    many = {f"heads.{number} x": {"right": True} for number in range(MOST_TRIES + 5)}
    assert len(state_after(Restore(many)).tries) == MOST_TRIES


def test_a_run_takes_the_destination_once_and_keeps_the_rest():
    going = state_after(Show(KEY), Note("destination", Destination("heads", 2)), Note("words", "Hello"), Move())
    assert going.destination == Destination("heads", 2) and going.moves == 1 and not going.has_begun
    begun = after(going, Start())
    assert begun.destination is None and begun.has_begun and begun.words == "Hello" and begun.tried(KEY).shown


def test_the_end_says_what_was_learned_and_names_the_open_steps(monkeypatch):
    lesson = next(each for each in read_lessons()[0] if each.closing)
    first, *others = lesson.questions
    monkeypatch.setattr(panel, "visit", lambda: state_after(Choose(f"{lesson.name}.{first} A dog runs.", "a", True)))
    end = panel.end_of(lesson)
    assert end["open"] == others and [text for _, text in end["say"]][1:] == [lesson.closing]
    assert panel.end_of(replace(lesson, closing=""))["say"][1][1] == lesson.goal
