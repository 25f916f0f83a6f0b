"""The shipped lessons: each step asks something that is decided, or says why not, with every model and sentence."""

import re

import pytest

from headlight.app import results
from headlight.app.results import TranslationRequest
from headlight.lessons.answer import Kind, Run
from headlight.lessons.file import SHIPPED, problems_of, read_lessons
from headlight.lessons.overview import overview
from headlight.lessons.posed import Try, payload_of, pose, pose_somehow, unknown_names
from headlight.lessons.worksheet import worksheet
from transformer.untrusted import read_toml

LESSONS, _ = read_lessons()
BY_NAME = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
TRANSLATING = pytest.mark.parametrize("checkpoint", ["en-de", "en-fr"])


def request(text, checkpoint="en-de"):
    return TranslationRequest(results.checkpoint(checkpoint), text)


@BY_NAME
def test_a_lesson_has_five_to_eight_steps_three_predictions_and_takes_a_quarter_of_an_hour(lesson):
    assert 5 <= len(lesson.steps) <= 8 and 8 <= lesson.minutes <= 15
    assert sum(step.is_question for step in lesson.steps) >= 3
    assert lesson.goal.startswith("You can ")
    for step in lesson.steps:
        assert len(step.say.split()) <= 45 and len(step.ask.split()) <= 30
        assert bool(step.note) == bool(step.sample)


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.toml")), ids=lambda path: path.stem)
def test_nothing_is_wrong_with_a_shipped_file_for_the_app_does_not_look(path):
    assert list(problems_of(path, read_toml(path))) == []


@BY_NAME
@TRANSLATING
def test_each_step_is_decided_by_one_of_its_sentences_and_knows_all_its_names(lesson, checkpoint):
    for number, step in enumerate(lesson.steps):
        sentences = lesson.sentences_of(number)
        posed = pose_somehow(lesson, number, Run(request(sentences[0], checkpoint)), sentences)
        assert not posed.undecided, f"step {number + 1}: {posed.undecided}"
        assert not unknown_names(posed), f"step {number + 1}"
        assert posed.address(shown=True) is not None
        if step.is_question and posed.answer.kind in (Kind.ONE, Kind.SEVERAL):
            names = [option.name for option in posed.answer.options]
            labels = [option.label for option in posed.answer.options]
            assert len(set(names)) == len(names) >= 2 and posed.answer.right <= set(names) and posed.answer.right
            assert len(set(labels)) == len(labels)


@TRANSLATING
def test_the_first_lesson_has_one_sentence_throughout(checkpoint):
    lesson = LESSONS[0]
    taken = set()
    for number in range(len(lesson.steps)):
        sentences = lesson.sentences_of(number)
        posed = pose_somehow(lesson, number, Run(request(sentences[0], checkpoint)), sentences)
        taken.add(posed.run.request.text)
        assert not (posed.answer and posed.answer.done), "what is to be done is not done yet"
    assert len(taken) == 1


@BY_NAME
@pytest.mark.parametrize("checkpoint", ["en-de", "en-fr", "reverse"])
def test_any_sentence_is_asked_about_or_told_why_not(lesson, checkpoint):
    texts = ["abc", "headlight"] if checkpoint == "reverse" else ["Where is my cat?", "No!", "<b>bold</b> and no no no"]
    for text in texts:
        for number in range(len(lesson.steps)):
            posed = pose(lesson, number, Run(request(text, checkpoint)))
            assert bool(posed.undecided) == (posed.answer is None and bool(posed.step.answer))
            if posed.undecided:
                assert re.fullmatch(r"[A-Z“].{10,220}[.!]", posed.undecided), posed.undecided
            else:
                told = payload_of(posed, Try(posed.options[0].name if posed.options else 1.0))
                assert not {"{", "▁"} & set(
                    "".join(str(told.get(key)) for key in ("say", "ask", "feedback", "hints")).replace("{}", "")
                )


@BY_NAME
def test_the_worksheet_has_every_question_and_the_answers_only_where_asked_for(lesson):
    steps = overview(lesson, request(lesson.sentences_of(0)[0]))
    plain, told = (worksheet(lesson, steps, answers=answers) for answers in (False, True))
    assert plain.count("<section>") == told.count("<section>") == len(lesson.steps)
    assert 'class="answer"' not in plain and told.count('class="answer"') >= 3
    for step in steps:
        assert not step.why or step.why not in plain
