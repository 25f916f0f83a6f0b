"""A question for a class: as the step has it when it is asked, and what the teacher asks on the spot."""

from dataclasses import replace
from urllib.parse import parse_qs

import pytest

from headlight.app import results
from headlight.app.parameters import PARAMETERS
from headlight.app.results import TranslationRequest
from headlight.classroom import Kind, Round
from headlight.classroom.store import MOST_LINK
from headlight.lessons import answer, panel
from headlight.lessons.answer import Answer, Option, Run
from headlight.lessons.file import read_lessons
from headlight.lessons.overview import pose_for
from headlight.lessons.posed import Posed, pose
from headlight.lessons.teach.asking import Asked, asked_about, link_to, own_question, question_of

LESSONS, _ = read_lessons()
REQUEST = TranslationRequest(results.checkpoint("en-de"), "I love my teacher.")


def posed(given: Answer | None, undecided: str = "") -> Posed:
    """The first step of the first lesson with another answer."""
    return Posed(LESSONS[0], 0, Run(REQUEST), given, undecided)


def asked_in(found: Asked, number: int = 1) -> Round:
    return Round(number=number, question=found.question, truth=found.truth, step=found.step, version=1, asked=0.0)


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_every_question_of_the_shipped_lessons_can_be_asked_of_a_class(lesson):
    asked = 0
    for number, step in enumerate(lesson.steps):
        there = pose_for(lesson, number, REQUEST)
        found = question_of(there)
        if isinstance(found, str):
            assert not step.is_question or there.answer is None or there.answer.kind == answer.Kind.DO, found
            continue
        asked += 1
        question, truth = found.question, found.truth
        assert found.step == f"{lesson.name}.{number + 1}"
        assert "{" not in question.text and "▁" not in question.text + "".join(question.options)
        labels = {option.name: there.label(option) for option in there.answer.options}
        assert {question.options[at] for at in truth.right} == {labels[name] for name in there.answer.right}
        page, _, query = truth.link.partition("?")
        values = {name: value[0] for name, value in parse_qs(query, keep_blank_values=True).items()}
        assert page == ("" if step.page == "home" else step.page)
        assert (
            values["lesson"] == found.step
            and values["text"] == there.run.request.text
            and set(values) <= set(PARAMETERS)
        )
        assert asked_about(asked_in(found)) == ("en-de", there.run.request.text)
        assert question.about == ("" if step.page == "training" else there.run.request.text)
        told = there.glossed(there.text(step.ask))[0]
        assert question.text == "".join(part for _, part in told), "with what a word means"
    assert asked >= 3


def test_each_option_is_told_what_is_so_of_it_and_a_number_keeps_its_margin():
    options = (Option("a", "first", "It is less."), Option("b", "second", "It is most."), Option("c", "third"))
    one = question_of(posed(Answer(answer.Kind.ONE, "It is second.", "", options, frozenset({"b"}))))
    by_label = dict(zip(one.question.options, one.truth.feedback, strict=True))
    assert by_label["first"] == "You said “first”. It is less. It is second."
    assert one.question.options[one.truth.right[0]] == "second" and one.truth.sentence == "It is second."
    several = question_of(posed(Answer(answer.Kind.SEVERAL, "Two.", "", options, frozenset({"a", "c"}))))
    assert several.question.kind == Kind.SEVERAL and several.truth.feedback == () and len(several.truth.right) == 2
    number = question_of(posed(Answer(answer.Kind.NUMBER, "It is 4.", "", value=4.0, tolerance=0.5)))
    assert (number.truth.value, number.truth.margin, number.question.options) == (4.0, 0.5, ())


def test_what_a_class_cannot_be_asked_says_why():
    many = tuple(Option(str(at), f"option {at}") for at in range(9))
    for given, undecided, words in (
        (None, "“x” is not in it.", "“x” is not in it. Take another sentence, or go on."),
        (Answer(answer.Kind.DO, "", ""), "", "do it together"),
        (Answer(answer.Kind.ONE, "", "", many, frozenset({"1"})), "", "more than 8 options"),
    ):
        found = question_of(posed(given, undecided))
        assert isinstance(found, str) and words in found


def test_a_question_of_her_own():
    found = own_question(" Which? ", ["a", "", " b ", "c"], 2, "masks", REQUEST)
    assert found.question.options == ("a", "b", "c") and found.question.text == "Which?"
    assert found.truth.right == (1,) and found.truth.sentence == "Right is: b" and found.step == ""
    assert found.truth.link.startswith("masks?") and asked_about(asked_in(found)) == ("en-de", REQUEST.text)
    for right in (None, 1, 9, -1):
        assert own_question("Which?", ["a", "", "b"], right, "home", REQUEST).truth.right == ()
    for text, options, words in (
        ("  ", ["a", "b"], "Write the question first."),
        ("Which?", ["a", " "], "two to 8"),
        ("Which?", list("abcdefghi"), "two to 8"),
        ("Which?", ["a", "a "], "the same"),
    ):
        assert words in own_question(text, options, None, "home", REQUEST)


def test_a_link_keeps_the_text_as_long_as_it_can():
    full = link_to("decoding", REQUEST, {"head": "cross.2.1", "lesson": "attention.2", "decoding": "greedy"})
    assert full == "decoding?head=cross.2.1&lesson=attention.2&checkpoint=en-de&text=I+love+my+teacher."
    long = replace(REQUEST, text="ü" * 240)  # six signs each
    shorter = link_to("decoding", long, {"lesson": "attention.2", "reordered": "x" * 50})
    assert (
        "reordered" not in shorter and asked_about_link(shorter) == ("en-de", long.text) and len(shorter) <= MOST_LINK
    )
    assert link_to("decoding", replace(REQUEST, text="ü" * 300), {}) == "decoding"
    hostile = replace(REQUEST, text='"><script>&checkpoint=x#\\ \n')
    assert asked_about_link(link_to("home", hostile, {})) == ("en-de", hostile.text)


def asked_about_link(link: str) -> tuple[str, str]:
    found = own_question("Which?", ["a", "b"], None, "home", REQUEST)
    return asked_about(asked_in(replace(found, truth=replace(found.truth, link=link))))


@pytest.mark.parametrize("text", ["The children are playing football in the park.", "The soup is too salty.", "Go."])
def test_a_class_keeps_a_sentence_that_decides_every_question(text):
    """Check that exactly what the desk refuses to ask about this sentence counts as undecided."""
    request = replace(REQUEST, text=text)
    for lesson in LESSONS[::3]:
        refused = [
            at for at, step in enumerate(lesson.steps, start=1) if step.is_question and _is_refused(lesson, at, request)
        ]
        assert panel._undecided_by_own(lesson, request) == refused


def _is_refused(lesson, number: int, request: TranslationRequest) -> bool:
    return pose(lesson, number - 1, Run(request)).answer is None


def test_the_default_sentence_gives_way_and_one_of_the_lesson_stays():
    assert panel._undecided_by_own(LESSONS[0], REQUEST) is None
    assert panel._undecided_by_own(LESSONS[0], replace(REQUEST, text=LESSONS[0].sentences[2])) == []
    long = panel._undecided_by_own(LESSONS[0], replace(REQUEST, text="x" * 5000))
    assert long == [at for at, step in enumerate(LESSONS[0].steps, start=1) if step.is_question]
