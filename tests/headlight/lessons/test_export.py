"""Lessons as data for the one-file page: the app's questions and feedback with the weights of that page."""

import json
from pathlib import Path

import pytest
from support.traces import CHECKPOINTS, rounded_checkpoint

from headlight.app.results import TranslationRequest
from headlight.lessons.answer import Kind, Run
from headlight.lessons.export import export_lessons
from headlight.lessons.file import read_lesson, read_lessons
from headlight.lessons.step_view import StepView, payload_of, pose
from headlight.lessons.visit import Try
from transformer.errors import UserError

ALL = {lesson.name: lesson for lesson in read_lessons()[0]}
LESSONS = [ALL[name] for name in ("attention", "qkv")]  # with every kind of question
VIEWS = {"home", "attention", "decoding", "heads", "inside"}


@pytest.fixture(scope="module")
def exported() -> dict:
    return json.loads(json.dumps(export_lessons(LESSONS, CHECKPOINTS / "en-de"), allow_nan=False))


def choices(view: StepView) -> list:
    """Return choices of a question, with the name of the feedback on each."""
    answer, names = view.answer, [option.name for option in view.answer.options]
    if answer.kind == Kind.ONE:
        return [(name, name) for name in names]
    some = [names[:count] for count in range(1, len(names) + 1)] if answer.kind == Kind.SEVERAL else []
    return [(each, f"{len(answer.right & set(each))} {len(set(each) - answer.right)}") for each in some]


def compare(answer: dict, view: StepView) -> None:
    """Compare an exported answer with the app's panel before and after a choice, and after the answer is shown."""
    panel, feedback = json.loads(json.dumps(payload_of(view, Try()))), answer["feedback"]
    for name, value in answer["panel"].items():
        assert value == panel[name] or (name in ("kind", "undecided") and panel.get("kind") == Kind.DO), name
    assert (feedback is None) == ("ask" not in panel)
    if feedback is None:
        return
    assert feedback["hints"] == view.hints() and set(feedback["right"]) == view.answer.right
    for choice, name in choices(view):
        assert feedback["choices"][name] == payload_of(view, Try(choice))["feedback"]
        whole = " ".join(filter(None, (feedback["choices"][name], feedback["truth"])))
        assert whole == payload_of(view, Try(choice, shown=True))["feedback"]
    if view.answer.kind == Kind.NUMBER:
        for off in (-1.01, -0.99, 0.99, 1.01):
            value = feedback["value"] + off * feedback["margin"]
            side = "" if abs(off) < 1 else feedback["choices"]["low" if off < 0 else "high"]
            assert view.answer.is_right(value) == (not side) and view.feedback(value, whole=False).endswith(side)


def test_every_answer_is_that_of_the_app_and_every_step_has_a_view(exported, tmp_path):
    kinds, rounded = set(), rounded_checkpoint(tmp_path, "en-de")
    for lesson, data in zip(LESSONS, exported["lessons"], strict=True):
        for number, step in enumerate(data["steps"]):
            assert step["answers"] and set(step["answers"]) <= set(lesson.sentences_of(number))
            for text in lesson.sentences_of(number):
                view = pose(lesson, number, Run(TranslationRequest(rounded, text)))
                if view.undecided:
                    assert text not in step["answers"] or len(step["answers"]) == 1
                    continue
                compare(step["answers"][text], view)
                kinds |= {view.answer.kind} if view.answer else set()
            for target in (answer[moment] for answer in step["answers"].values() for moment in ("at", "shown")):
                seed = target["values"].get("toy_block_seed")
                assert target["view"] in VIEWS and (seed is None or seed in exported["examples"])
    assert kinds == set(Kind)


def test_a_lesson_without_a_sentence_and_one_without_an_answer(tmp_path: Path):
    path = tmp_path / "own.toml"
    step = '[[step]]\npage = "home"\nsay = "Look."\n'
    path.write_text(f'title = "Own"\ngoal = "None."\nminutes = 1\n{step}', encoding="utf-8")
    (only,) = export_lessons([read_lesson(path)], CHECKPOINTS / "en-de")["lessons"][0]["steps"]
    assert only["any"] and not only["judged"] and len(only["answers"]) == 1


def test_a_model_that_reads_another_language_has_no_lessons():
    with pytest.raises(UserError, match="English"):
        export_lessons(LESSONS[:1], CHECKPOINTS / "reverse")
