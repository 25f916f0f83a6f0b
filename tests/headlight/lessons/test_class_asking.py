"""A question for a class: of a lesson's step, and of the teacher's own."""

from dataclasses import replace
from urllib.parse import parse_qs

import pytest
from support.lesson_runs import SENTENCES, run_of
from support.pages import open_page

from headlight.app.parameters import PARAMETERS
from headlight.classroom import PORT_VARIABLE, Kind, Round
from headlight.classroom.store import MOST_LINK
from headlight.lessons import answer, sentence
from headlight.lessons.answer import Answer, Option, Run
from headlight.lessons.file import read_lessons
from headlight.lessons.overview import overview
from headlight.lessons.step_view import StepView, plain_text, pose
from headlight.lessons.teach.asking import ClassQuestion, link_to, own_question, question_of, subject_of

LESSONS, _ = read_lessons()
REQUEST = run_of("en-de", "I love my teacher.").request


def walk(lesson):
    return sentence.walk(lesson, REQUEST)


def view(step_answer: Answer | None, undecided: str = "") -> StepView:
    """Return the first step of the first lesson with another answer."""
    return StepView(LESSONS[0], 0, Run(REQUEST), step_answer, undecided)


def round_of(question: ClassQuestion) -> Round:
    return Round(number=1, question=question.question, truth=question.truth, step=question.step, version=1, opened=0.0)


def test_questions_of_the_shipped_lessons_can_be_asked_of_a_class():
    for lesson, number, there in ((each, at, view) for each in LESSONS[::2] for at, view in enumerate(walk(each))):
        step = there.step
        text, class_question = there.run.request.text, question_of(there)
        if isinstance(class_question, str):
            assert not step.is_question or there.answer is None or there.answer.kind == answer.Kind.DO, class_question
            continue
        question, truth = class_question.question, class_question.truth
        assert "{" not in question.text and "▁" not in question.text + "".join(question.options)
        assert question.text == plain_text(there.glossed(there.text(step.ask))[0]), "with meanings of words"
        right = {there.label(option) for option in there.answer.options if option.name in there.answer.right}
        assert {question.options[at] for at in truth.right} == right
        page, _, query = truth.link.partition("?")
        values = {name: value[0] for name, value in parse_qs(query, keep_blank_values=True).items()}
        assert page == ("" if step.page == "home" else step.page) and set(values) <= set(PARAMETERS)
        assert values["lesson"] == class_question.step == f"{lesson.name}.{number + 1}"
        assert values["text"] == text and subject_of(round_of(class_question)) == ("en-de", text)
        has_sentence = step.page != "training" and step.at.get("inside") != "small example" and lesson.name != "learn"
        assert question.about == (f"“{text}” → “{there.run.trace.target_text}”" if has_sentence else "")


def test_options_have_their_feedback_and_a_number_its_margin():
    options = (Option("a", "first", "It is less."), Option("b", "second", "It is most."), Option("c", "third"))
    one = question_of(view(Answer(answer.Kind.ONE, "It is second.", "", options, {"b"})))
    by_label = dict(zip(one.question.options, one.truth.feedback, strict=True))
    assert by_label["first"] == "You said “first”. It is less. It is second."
    assert one.question.options[one.truth.right[0]] == "second" and one.truth.sentence == "It is second."
    several = question_of(view(Answer(answer.Kind.SEVERAL, "Two.", "", options, {"a", "c"})))
    assert several.question.kind == Kind.SEVERAL and several.truth.feedback == () and len(several.truth.right) == 2
    number = question_of(view(Answer(answer.Kind.NUMBER, "It is 4.", "", value=4.0, tolerance=0.5)))
    assert (number.truth.value, number.truth.margin, number.question.options) == (4.0, 0.5, ())
    many = tuple(Option(str(at), f"option {at}") for at in range(9))
    refused = view(None, "“x” is not in it."), view(Answer(answer.Kind.DO, "", ""))
    for each in (*refused, view(Answer(answer.Kind.ONE, "", "", many, {"1"})), view(None)):
        assert isinstance(question_of(each), str)


def test_a_question_of_the_teachers_own():
    question = own_question(" Which? ", ["a", "", " b ", "c"], 2, "masks", REQUEST)
    assert question.question.options == ("a", "b", "c") and question.question.text == "Which?"
    assert question.truth.right == (1,) and question.truth.sentence == "Right answer: b" and question.step == ""
    assert question.truth.link.startswith("masks?") and subject_of(round_of(question)) == ("en-de", REQUEST.text)
    for right in (None, 1, 9, -1):
        assert own_question("Which?", ["a", "", "b"], right, "home", REQUEST).truth.right == ()
    for text, options in (("  ", "ab"), ("Which?", ["a", " "]), ("Which?", "abcdefghi"), ("Which?", ["a", "a "])):
        assert isinstance(own_question(text, list(options), None, "home", REQUEST), str)


def test_a_link_keeps_the_text_as_long_as_it_can():
    full = link_to("decoding", REQUEST, {"head": "cross.2.1", "lesson": "attention.2", "decoding": "greedy"})
    assert full == "decoding?head=cross.2.1&lesson=attention.2&checkpoint=en-de&text=I+love+my+teacher."
    hostile, long = ("home", '"><script>&checkpoint=x#\\ \n', {}), ("decoding", "ü" * 240, {"reordered": "x" * 50})
    for page, text, address in (hostile, long):
        link = link_to(page, replace(REQUEST, text=text), address)
        question = own_question("Which?", ["a", "b"], None, page, replace(REQUEST, text=text))
        assert subject_of(round_of(question)) == ("en-de", text)
        assert len(link) <= MOST_LINK and "reordered" not in link and link == question.truth.link
    assert link_to("decoding", replace(REQUEST, text="ü" * 300), {}) == "decoding"


@pytest.mark.parametrize("text", [REQUEST.text, "The children are playing in the park.", *SENTENCES[1:3], "x" * 5000])
def test_sheet_and_class_have_the_sentence_that_decides_every_question(text):
    """Check that another sentence than the default stays where it decides, and that the lesson's begin otherwise."""
    request = replace(REQUEST, text=text)
    for lesson in LESSONS[::3]:
        undecided = sentence.undecided_questions(lesson, request)
        texts = [step.sentence for step in overview(lesson, request)]
        stays = not undecided and request != REQUEST
        assert set(texts) == {text} if stays else texts[0] in lesson.sentences_of(0)
        assert (f"“{text}” gives no clear" in sentence.reason_words(lesson, request)) == bool(undecided)
        if len(text) < 100 and text not in sentence.all_sentences(lesson):
            questions = [at for at, step in enumerate(lesson.steps, start=1) if step.is_question]
            assert undecided == [at for at in questions if pose(lesson, at - 1, Run(request)).answer is None]


def test_a_step_without_a_question_for_phones_shows_its_task_on_the_wall():
    for lesson in LESSONS:
        for there in sentence.walk(lesson, REQUEST):
            task = there.step.note or (there.step.ask if there.answer and there.answer.kind == answer.Kind.DO else "")
            if task:
                assert question_of(there).startswith(there.plain(task)[:20])


def test_a_teacher_reads_beforehand_that_phones_are_kept_out(monkeypatch):
    monkeypatch.setenv(PORT_VARIABLE, "0")
    (warning,) = open_page("pages/lessons.py", teach="1").warning
    assert "no phone can reach it" in warning.value or PORT_VARIABLE in warning.value.replace("\\", "")
