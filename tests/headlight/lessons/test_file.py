"""Lessons' files: every mistake is named by its line and field; the command lists, checks and prints them."""

import re

import pytest
from support.source_files import ROOT

from headlight.__main__ import main
from headlight.lessons.file import SHIPPED, LessonError, read_lesson, read_lessons

RIGHT = """title = "A lesson"
goal = "You can read a row."
minutes = 5
sentences = ["I love my teacher."]

[[step]]
page = "home"
say = "Look."

[[step]]
page = "attention"
at = {head = "cross.{layer}.1"}
say = "Each row has **weights**, see `w_1`."
ask = "What is <b>read</b> for “{word}”?"
answer = {from = "most_read", kind = "cross"}
hints = ["Look at the row."]
show = {query = "{row}"}
"""


def written(folder, text, name="own.toml"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('title = "A lesson"\n', "", 1, "“title” is missing"),
        ("minutes = 5", 'minutes = "five"', 3, "“minutes” must be a whole number"),
        ("minutes = 5", "minutes = 500", 3, "from 1 to 90"),
        ('page = "attention"', 'page = "atention"', 11, "There is no page “atention”"),
        ('say = "Look."', 'say = "Look at row 3."', 8, "“say” has a number"),
        ('say = "Look."', "say = 'Look.'\nsays = 'x'", 9, "There is no field “says”"),
        ("most_read", "most_reed", 15, "There is no measure “most_reed”; there are"),
        (', kind = "cross"}', ", kinds = 'cross'}", 15, "has no argument “kinds”"),
        (', kind = "cross"}', ", kind = 3}", 15, "“kind” of “most_read” must be str"),
        (', kind = "cross"}', "}", 15, "needs the argument “kind”"),
        ("head = ", "heads = ", 12, "“at” has “heads”, which no address knows"),
        ('"{row}"', "3", 17, "must be a text"),
        ('["Look at the row."]', '["a", "b", "c", "d"]', 16, "at most 3 hints"),
        ('answer = {from = "most_read", kind = "cross"}\n', "", 14, "“ask” needs an “answer”"),
        ('from = "most_read", ', "", 15, "“answer” needs “from”"),
        ('say = "Look."', f'say = "{"word " * 61}"', 8, "more than 60 words"),
        ('say = "Look."', "say = 'Look.'\nsample = 'So.'", 9, "“sample” is an answer to a “note”"),
    ],
)
def test_a_mistake_is_named_by_its_line_and_field(tmp_path, old, new, line, words):
    assert old in RIGHT
    with pytest.raises(LessonError) as caught:
        read_lesson(written(tmp_path, RIGHT.replace(old, new, 1)))
    assert str(caught.value).startswith(f"own.toml, line {line}: ") and words in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("own.toml", "title = "),
        ("own.toml", "a" * 300_000),
        ("own.toml", "\ud800".encode("utf-8", "surrogatepass").decode("latin-1")),
        ("own.toml", "step = [1, 2]\ntitle='a'\ngoal='b'\nminutes=5"),
        ("own.toml", ""),
        ("Own lesson.toml", RIGHT),
        ("own.toml", "a = " + "[" * 3000),
    ],
)
def test_a_file_without_a_lesson_is_refused_in_a_sentence(tmp_path, name, text):
    with pytest.raises(LessonError, match=re.escape(name)):
        read_lesson(written(tmp_path, text, name))


def test_a_folder_adds_lessons_replaces_shipped_ones_and_names_files_that_cannot_be_read(tmp_path, monkeypatch):
    shipped, problems = read_lessons()
    assert shipped and not problems
    written(tmp_path, RIGHT)
    written(tmp_path, RIGHT.replace("A lesson", "Another attention"), f"{shipped[0].name}.toml")
    written(tmp_path, "title = 5", "broken.toml")
    monkeypatch.setenv("HEADLIGHT_LESSONS", str(tmp_path))
    lessons, (problem,) = read_lessons()
    titles = {lesson.title for lesson in lessons}
    assert titles == {lesson.title for lesson in shipped[1:]} | {"A lesson", "Another attention"}
    assert problem.startswith("broken.toml, line 1: “title” must be a text")


def test_the_command_lists_checks_and_prints(tmp_path, capsys):
    assert main(["lessons", "list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(read_lessons()[0])
    right = written(tmp_path, RIGHT)
    lesson = read_lesson(right)
    assert (lesson.name, lesson.minutes) == ("own", 5) and [step.is_question for step in lesson.steps] == [False, True]
    assert lesson.steps[1].arguments == {"kind": "cross"} and lesson.steps[1].show == {"query": "{row}"}
    assert main(["lessons", "check", str(right)]) == 0
    assert capsys.readouterr().out == "own.toml: 2 steps, 1 questions: right.\n"
    wrong = written(tmp_path, RIGHT.replace('query = "{row}"', 'query = "{rows}"'), "wrong.toml")
    undecided = written(tmp_path, RIGHT.replace("I love my teacher.", "a"), "bare.toml")
    assert main(["lessons", "check", *map(str, (right, wrong, undecided, tmp_path / "none.toml"))]) == 1
    output = capsys.readouterr().out
    assert "wrong.toml, line 10: “{rows}” is no name" in output and "none.toml cannot be read" in output
    assert "bare.toml, line 10: no sentence decides this step for en-de: " in output
    page = tmp_path / "page.html"
    assert main(["lessons", "worksheet", str(right), "--out", str(page)]) == 0
    assert "What is &lt;b&gt;read&lt;/b&gt; for" in page.read_text(encoding="utf-8")
    assert main(["lessons", "worksheet", "no lesson", "--out", str(page)]) == 1
    assert "There is no lesson “no lesson”" in capsys.readouterr().err


def test_every_step_is_printed_for_each_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("headlight.lessons.file.SHIPPED", tmp_path / "none")
    monkeypatch.setenv("HEADLIGHT_LESSONS", str(tmp_path))
    words = 'words = {truth = "It reads {token}.", working = "{largest}.", weight = "{share}", option = "{token}"}'
    written(tmp_path, re.sub("^answer = .*", rf"\g<0>\n{words}", RIGHT, flags=re.M))
    sentences = written(tmp_path, "I love my teacher.\n?\n", "sentences.txt")
    assert main(["lessons", "pose", "--sentences", str(sentences)]) == 0
    printed = capsys.readouterr().out
    parts = ("[own 1] I love my teacher.", "[own 2] ?", "ask: ", "+ “", "- “", "hint: ", "truth: ", "not asked: ")
    assert all(f"\n{part}" in f"\n{printed}" or f"\n  {part}" in printed for part in parts)
    assert main(["lessons", "pose", "--sentences", str(tmp_path / "none.txt")]) == 1
    assert "none.txt" in capsys.readouterr().err


def test_the_documentation_lists_every_measure_and_its_lesson_is_right(tmp_path, capsys):
    """The list is written by `headlight lessons measures > docs/measures.md`."""
    assert main(["lessons", "measures"]) == 0
    assert (ROOT / "docs" / "measures.md").read_text(encoding="utf-8") == capsys.readouterr().out
    lesson, words = re.findall(r"^```toml\n(.*?)^```", (ROOT / "docs" / "lessons.md").read_text("utf-8"), re.M | re.S)
    assert words in (SHIPPED / "heads.toml").read_text("utf-8")
    assert main(["lessons", "check", str(written(tmp_path, lesson))]) == 0, capsys.readouterr().out
