"""The shipped lessons: every step is decided by one of its sentences, with either language."""

import html
from dataclasses import replace

import pytest
from support.lesson_runs import LANGUAGES, run_of

from headlight.lessons.file import SHIPPED, problems_of, read_lessons
from headlight.lessons.overview import overview
from headlight.lessons.step_view import payload_of, plain_text, pose_decided, unknown_names
from headlight.lessons.visit import Try
from headlight.lessons.worksheet import worksheet
from transformer.untrusted import read_toml

LESSONS, _ = read_lessons()
BY_NAME = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)


@BY_NAME
def test_a_lesson_has_no_mistakes_which_the_app_does_not_look_for_and_three_questions_in_a_quarter_of_an_hour(lesson):
    path = SHIPPED / f"{lesson.name}.toml"
    assert list(problems_of(path, read_toml(path))) == []
    assert 5 <= len(lesson.steps) <= 8 and 8 <= lesson.minutes <= 15
    assert sum(step.is_question for step in lesson.steps) >= 3
    assert all(bool(step.note) == bool(step.sample) for step in lesson.steps)


@BY_NAME
@pytest.mark.parametrize("checkpoint", LANGUAGES)
def test_each_step_is_decided_by_one_of_its_sentences_and_knows_all_its_names(lesson, checkpoint):
    texts = set()
    for number in range(len(lesson.steps)):
        sentences = lesson.sentences_of(number)
        view = pose_decided(lesson, number, run_of(checkpoint, sentences[0]), sentences)
        if lesson.needs and not lesson.needs.startswith(checkpoint):
            assert not lesson.steps[number].answer or "en-de" in view.undecided
            continue
        assert not view.undecided and not unknown_names(view) and view.address(shown=True) is not None, number
        payload = payload_of(view, Try(view.options[0].name if view.options else 1.0))
        labels = [plain_text(label) for _, label in payload.get("options", ())]
        shown = "".join(str(payload.get(key)) for key in ("say", "ask", "feedback", "hints")) + "".join(labels)
        assert not {"{", "▁"} & set(shown.replace("{}", ""))
        texts.add(view.run.request.text)
    assert lesson != LESSONS[0] or len(texts) <= 2, "one sentence until the visitor's own"


@BY_NAME
def test_the_worksheet_has_every_question_and_the_answers_only_on_demand(lesson):
    steps = overview(lesson, run_of("en-de", lesson.sentences_of(0)[0]).request)
    plain, answers = (worksheet(lesson, steps, answers=each) for each in (False, True))
    assert plain.count("<section>") == answers.count("<section>") == len(lesson.steps)
    assert 'class="answer"' not in plain and answers.count('class="answer"') >= 3
    assert all(html.escape(f"“{step.sentence}”") in plain.partition("<section>")[0] for step in steps)
    assert not any(step.why and step.why in plain for step in steps)
    marked = [replace(step, ask="<b>Which?</b>") if step.ask else step for step in steps]
    assert "<b>Which?" not in worksheet(lesson, marked, answers=True)
