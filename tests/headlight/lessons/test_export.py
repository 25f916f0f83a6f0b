"""Lessons as data for the one-file page: what the app would ask and say with the weights of that page."""

import json
from pathlib import Path

import pytest
from support.traces import CHECKPOINTS, rounded_checkpoint

from headlight.app.results import CheckpointFiles, TranslationRequest
from headlight.lessons.answer import Kind, Run
from headlight.lessons.export import export_lessons
from headlight.lessons.file import read_lesson, read_lessons
from headlight.lessons.posed import Posed, Try, payload_of, pose
from transformer.errors import UserError

LESSONS = read_lessons()[0]
VIEWS = {"home", "attention", "decoding", "heads", "inside"}


@pytest.fixture(scope="module")
def exported() -> dict:
    return json.loads(json.dumps(export_lessons(LESSONS, CHECKPOINTS / "en-de"), allow_nan=False))


@pytest.fixture(scope="module")
def rounded(tmp_path_factory) -> CheckpointFiles:
    return rounded_checkpoint(tmp_path_factory.mktemp("rounded"), "en-de")


def choices(posed: Posed) -> list:
    """Choices of a question, with the name of the feedback on each."""
    answer = posed.answer
    if answer.kind == Kind.ONE:
        return [(option.name, option.name) for option in answer.options]
    if answer.kind != Kind.SEVERAL:
        return []
    names = [option.name for option in answer.options]
    some = [names[:count] for count in range(1, len(names) + 1)]
    return [(each, f"{len(answer.right & set(each))} {len(set(each) - answer.right)}") for each in some]


def same_answer(answer: dict, posed: Posed) -> None:
    """Hold an exported answer against the app's panel before and after a choice, and after the answer is shown."""
    panel, told = json.loads(json.dumps(payload_of(posed, Try()))), answer["told"]
    is_judged = panel.get("kind") != Kind.DO
    for name, value in answer["panel"].items():
        assert value == panel[name] or (name in ("kind", "undecided") and not is_judged), name
    if told is None:
        assert "ask" not in panel
        return
    assert told["hints"] == posed.hints() and set(told["right"]) == posed.answer.right
    for choice, name in choices(posed):
        assert told["said"][name] == payload_of(posed, Try(choice))["feedback"]
        said = " ".join(filter(None, (told["said"][name], told["truth"])))
        assert said == payload_of(posed, Try(choice, shown=True))["feedback"]
    if posed.answer.kind == Kind.NUMBER:
        for off in (-1.01, -0.99, 0.99, 1.01):
            value = told["value"] + off * told["margin"]
            assert posed.answer.is_right(value) == (abs(off) < 1)
            if abs(off) > 1:
                side = told["said"]["low" if off < 0 else "high"]
                assert payload_of(posed, Try(value))["feedback"].endswith(side)


def test_every_answer_is_that_of_the_app_for_the_lessons_sentences(exported, rounded):
    kinds = set()
    for lesson, told in zip(LESSONS, exported["lessons"], strict=True):
        for number, step in enumerate(told["steps"]):
            assert set(step["answers"]) <= set(lesson.sentences_of(number))
            for text in lesson.sentences_of(number):
                posed = pose(lesson, number, Run(TranslationRequest(rounded, text)))
                if posed.undecided:
                    assert text not in step["answers"] or len(step["answers"]) == 1
                    continue
                same_answer(step["answers"][text], posed)
                kinds |= {posed.answer.kind} if posed.answer else set()
    assert kinds == set(Kind)


def test_every_step_leads_to_a_view_of_the_file_or_says_where_the_app_has_its_figure(exported):
    for lesson in exported["lessons"]:
        for step in lesson["steps"]:
            assert step["answers"]
            for answer in step["answers"].values():
                for place in (answer["at"], answer["shown"]):
                    assert place["view"] in VIEWS
                    assert not place["missing"] or place["missing"].startswith("The app has this figure on its page ")
                    seed = place["said"].get("toy_block_seed")
                    assert seed is None or seed in exported["examples"]


def test_a_lesson_without_a_sentence_and_one_without_an_answer(tmp_path: Path):
    path = tmp_path / "own.toml"
    step = '[[step]]\npage = "home"\nsay = "Look."\n'
    path.write_text(f'title = "Own"\ngoal = "None."\nminutes = 1\n{step}', encoding="utf-8")
    (only,) = export_lessons([read_lesson(path)], CHECKPOINTS / "en-de")["lessons"][0]["steps"]
    assert only["any"] and not only["judged"] and len(only["answers"]) == 1


def test_a_model_that_reads_another_language_has_no_lessons():
    with pytest.raises(UserError, match="English"):
        export_lessons(LESSONS[:1], CHECKPOINTS / "reverse")
