"""A lesson as one file: it has what the app would say to each answer, in a form that is not read at a glance."""

import json
import re
from base64 import b64decode
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from headlight.__main__ import main
from headlight.app import results
from headlight.app.results import TranslationRequest
from headlight.lessons import file
from headlight.lessons.answer import Kind, number_words
from headlight.lessons.file import read_lesson, read_lessons
from headlight.lessons.offline import offline_page
from headlight.lessons.overview import overview, pose_for
from headlight.lessons.panel import Try, payload_of

LESSONS = {lesson.name: lesson for lesson in read_lessons()[0]}
BY_NAME = pytest.mark.parametrize("name", LESSONS)
OWN = "My brother loves your sister."


def request(text: str, checkpoint: str = "en-de") -> TranslationRequest:
    return TranslationRequest(results.checkpoint(checkpoint), text)


@cache
def page_of(name: str) -> str:
    """The file of a lesson for its own first sentence."""
    return offline_page(LESSONS[name], request(LESSONS[name].sentences[0]))


def data_of(page: str) -> dict:
    """What is in a file: its sentences, and its steps with what is told of them as it reads."""
    data = json.loads(re.search(r'id="page_data">(.*?)</script>', page)[1])["data"]
    for step in data["steps"]:
        step["told"] = json.loads(b64decode(step["told"]["base64 bytes"]))
    return data


def test_each_answer_is_told_what_the_app_would_say():
    kinds = set()
    for lesson in LESSONS.values():
        asked = request(lesson.sentences[0])
        for number, step in enumerate(data_of(page_of(lesson.name))["steps"]):
            posed = pose_for(lesson, number, asked)
            if not step["told"]:
                assert not posed.step.is_question
                continue
            told, answer = step["told"], posed.answer
            kinds.add(answer.kind)
            assert told["hints"] == posed.hints() and set(told["right"]) == answer.right
            for choice, key in choices(posed):
                said = told["said"][key].replace("{number}", number_words(choice) if key == "number" else "")
                if key == "number" and not posed.answer.is_right(choice):
                    said += f" {told['said']['low' if choice < posed.answer.value else 'high']}"
                assert said == payload_of(posed, Try(choice))["feedback"]
                assert f"{said} {told['truth']}" == payload_of(posed, Try(choice, shown=True))["feedback"]
            if answer.kind == Kind.NUMBER:
                for off, right in ((0.99, True), (-0.99, True), (1.01, False), (-1.01, False)):
                    value = told["value"] + off * told["margin"]
                    assert answer.is_right(value) == right
    assert kinds == set(Kind)


def choices(posed):
    """Choices of a question, with the name by which the file has what is said to them."""
    answer = posed.answer
    if answer.kind == Kind.ONE:
        yield from ((option.name, option.name) for option in answer.options)
    elif answer.kind == Kind.NUMBER:
        yield from ((value, "number") for value in (answer.value, 1.0, -1234.5))
    elif answer.kind == Kind.SEVERAL:
        names = [option.name for option in answer.options]
        for count in range(1, len(names) + 1):
            hit = sum(name in answer.right for name in names[:count])
            yield names[:count], f"{hit} {count - hit}"


@BY_NAME
def test_what_is_right_is_not_read_at_a_glance_and_each_sentence_is_there_once(name):
    lesson = LESSONS[name]
    page = page_of(name)
    data = data_of(page)
    words = [sentence["words"] for sentence in data["sentences"]]
    assert len(words) == len(set(words)) == page.count('"blob":')
    told = [step["told"]["truth"] for step in data["steps"] if step["told"]]
    assert len(told) >= 3
    for truth in told:
        assert truth not in page and json.dumps(truth)[1:-1] not in page
    for number, step in enumerate(data["steps"]):
        posed = pose_for(lesson, number, request(lesson.sentences[0]))
        assert words[step["look"]["sentence"]].startswith(f"“{posed.run.request.text}” → “")
        assert step["panel"]["right"] == [] if step["told"] else "right" not in step["panel"]


def test_the_head_that_a_step_names_is_chosen_as_it_is_named():
    looks = {name: looks_of(name) for name in ("attention", "align", "mask", "heads")}
    posed = pose_for(LESSONS["attention"], 1, request(LESSONS["attention"].sentences[0]))
    layer, head = (posed.address()[part] for part in ("layer", "head"))
    assert looks["attention"][1]["heads"] == f"{layer}.{head}" and looks["attention"][1]["kind"] == "cross"
    assert looks["align"][1]["rows"] == "predicted" and looks["align"][6]["heads"].count("-") == 23
    assert looks["align"][4]["heads"] == "-".join(f"1.{head}" for head in range(1, 9))
    assert (looks["mask"][0]["kind"], looks["mask"][0]["tokens"][0]) == ("decoder", "q")
    assert looks["mask"][3]["rows"] == "fed"
    assert looks["heads"][4]["kinds"] == "all three"


def looks_of(name: str) -> list[dict]:
    return [step["look"]["choice"] for step in data_of(page_of(name))["steps"]]


@pytest.mark.parametrize("name", ["attention", "decoding"])
def test_another_sentence_takes_the_place_of_the_lessons_as_in_its_overview(name):
    lesson = LESSONS[name]
    data = data_of(offline_page(lesson, request(OWN)))
    sentences = [data["sentences"][step["look"]["sentence"]]["words"] for step in data["steps"]]
    told = overview(lesson, request(OWN))
    assert [words.split("” → “")[0] for words in sentences] == [f"“{step.sentence}" for step in told]
    assert sum(step.sentence == OWN for step in told) >= 4
    assert {step.sentence for step in told} - {OWN}, "steps with sentences of their own keep them"


def test_what_the_file_cannot_show_is_said_with_the_page_that_can():
    lines = {}
    for name in ("attention", "qkv", "mask", "learn"):
        lines[name] = [step["elsewhere"] for step in data_of(page_of(name))["steps"]]
    assert lines["attention"][1] == lines["attention"][5] == ""
    assert lines["attention"][6].startswith("This is done in the app, on its page Translate;")
    assert set(lines["qkv"][:5]) == {"The app has this step on its page Inside attention."}
    assert lines["mask"][3] == "The app has this step on its page Masks."
    assert lines["learn"][7] == "The app has this step on its page Training."


def test_where_the_weights_would_tell_the_answer_they_are_veiled():
    veiled = {}
    for name in ("attention", "align", "qkv"):
        steps = data_of(page_of(name))["steps"]
        veiled[name] = [number for number, step in enumerate(steps, start=1) if step["veiled"]]
    assert veiled["attention"] == [1] and veiled["align"] == [2, 3] and veiled["qkv"][-1] == 7


def test_a_text_that_looks_like_markup_stays_text():
    evil = "</script><b>no</b> I love my teacher."
    lesson = replace(LESSONS["attention"], title=evil, goal=evil)
    page = offline_page(lesson, request(evil))
    assert page.count("</script>") == 2 and "<b>" not in page
    assert any(evil in sentence["words"] for sentence in data_of(page)["sentences"])


@pytest.mark.usefixtures("command_line")
class TestCommand:
    """The command `page --lesson`."""

    def test_it_writes_the_lesson_for_a_checkpoint_and_a_sentence(self, capsys, tmp_path):
        out = tmp_path / "lesson.html"
        assert main(["page", "--lesson", "attention", "--checkpoint", "en-fr", "--text", OWN, "--out", str(out)]) == 0
        printed = capsys.readouterr()
        assert printed.out == "What is attention?\n" and printed.err == ""
        page = out.read_text(encoding="utf-8")
        assert "the checkpoint en-fr." in page
        assert data_of(page)["steps"][0]["panel"]["key"] == f"attention.1 en-fr {OWN}"

    def test_a_lesson_in_a_file_or_a_folder_of_ones_own(self, capsys, tmp_path, monkeypatch):
        own = tmp_path / "own.toml"
        own.write_text((Path(file.__file__).parent / "shipped" / "align.toml").read_text(encoding="utf-8"))
        monkeypatch.setenv("HEADLIGHT_LESSONS", str(tmp_path))
        for name in (str(own), "own"):
            assert main(["page", "--lesson", name, "--out", str(tmp_path / "own.html")]) == 0
        assert capsys.readouterr().out == f"{read_lesson(own).title}\n" * 2

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["--lesson", "nothing"], "There is no lesson “nothing”; there are .*attention"),
            (["--lesson", "broken"], "broken.toml, line 5: There is no page “nowhere”"),
            (["--lesson", "gone.toml"], "gone.toml cannot be read: No such file"),
            (["--lesson", "attention", "--text", " "], "The text is empty"),
            (["--lesson", "attention", "--text", "I love. " * 400], "too long|at most"),
            (["--lesson", "attention", "--beam", "3"], "A lesson is about the model's own greedy translation"),
            (["--lesson", "attention", "I love my teacher."], "Give a sentence, or a lesson by --lesson"),
            ([], "Give a sentence, or a lesson by --lesson"),
            (["I love my teacher.", "--text", "x"], "--text goes with --lesson"),
        ],
    )
    def test_bad_input_is_one_sentence(self, arguments, words, capsys, tmp_path, monkeypatch):
        text = 'title = "x"\ngoal = "x"\nminutes = 1\n[[step]]\npage = "nowhere"\nsay = "x"\n'
        (tmp_path / "broken.toml").write_text(text)
        monkeypatch.setenv("HEADLIGHT_LESSONS", str(tmp_path))
        assert main(["page", *arguments, "--out", str(tmp_path / "x.html")]) == 1
        printed = capsys.readouterr()
        assert len(printed.err.strip().splitlines()) == 1 and re.search(words, printed.err), printed.err
        assert printed.out == "" and not (tmp_path / "x.html").exists()
