"""A step for one run: texts, feedback on choices, and a right answer that is hidden until it is chosen or shown."""

import json
from dataclasses import replace

import pytest

from headlight.app import results
from headlight.app.results import TranslationRequest
from headlight.lessons.answer import Answer, Kind, Option, Run
from headlight.lessons.file import Lesson, Step
from headlight.lessons.step_view import StepView, payload_of, pose, unknown_names
from headlight.lessons.visit import Try
from headlight.lessons.words import number_words

OPTIONS = (Option("a", "“▁a”", "It has .1."), Option("b", "“▁b”", "It has .9."), Option("c", "“c”"), Option("d", "“d”"))
STEP = Step(
    "home",
    "Look at **{word}** and *more* `x_1`.",
    {"query": "{row}"},
    "Which of “{word}”?",
    "most_read",
    hints=("At “{word}”.",),
    show={"key": "{share}"},
)
LESSON = Lesson("own", "Own", "Goal", 5, (STEP,))


def run(text="I love my teacher.", checkpoint="en-de"):
    return Run(TranslationRequest(results.checkpoint(checkpoint), text))


def view(kind=Kind.ONE, **changed):
    names = {"word": "▁my", "row": 2, "share": 0.5}
    fields = {"options": OPTIONS, "right": {"b"}, "names": names, **changed}
    return StepView(LESSON, 0, run(), Answer(kind, "“▁b” has .9.", "Of .1 and .9 the second is more.", **fields))


def test_texts_are_filled_and_styled():
    assert view().text(STEP.say) == [
        ("", "Look at "), ("strong", "my"), ("", " and "), ("em", "more"), ("", " "), ("code", "x_1"), ("", "."),
    ]  # fmt: skip
    assert view().plain(STEP.say) == "Look at my and more x_1." and view().fill("{word} {unknown}") == "my {unknown}"
    assert view().address() == {"query": "3"}, "an index counts from 1"
    assert view().address(shown=True) == {"query": "3", "key": "50 %"} and view(names={}).address() is None
    hostile = view(names={"word": "**{row}**<b>", "row": 0, "share": 0})
    assert ("strong", "**{row}**<b>") in hostile.text(STEP.say), "a token is no markup and no name"
    undecided = StepView(LESSON, 0, run(), undecided="It decides nothing.")
    assert (
        payload_of(undecided, Try())["say"] == [] and payload_of(undecided, Try())["undecided"] == "It decides nothing."
    )


@pytest.mark.parametrize(
    "changed", [{"text": "I hate my teacher."}, {"language": "fr"}, {"source_language": "fr"}, {"task": "summarize"}]
)
def test_another_text_language_or_task_is_another_question(changed):
    other = replace(view(), run=Run(replace(view().run.request, **changed)))
    assert other.key != view().key == view().key


@pytest.mark.parametrize(
    ("kind", "changed", "right", "wrong"),
    [
        (Kind.ONE, {}, ["b"], ["a", "x", None, 3, ["a"], {}, {"b": 1}, [["b"]]]),
        (Kind.SEVERAL, {"right": {"b", "c"}}, [["b", "c"], ["c", "b"]], [["b"], ["a", "b", "c"], [], "b", None, [{}]]),
        (Kind.NUMBER, {"value": -50.0}, [-50, -49.1, -50.9], [50, -48, "−50", None, True, float("nan"), float("inf")]),
        (Kind.NUMBER, {"value": 0.5, "tolerance": 0.1}, [0.41, 0.6], [0.39, 0.61]),
        (Kind.DO, {"done": True}, [True], []),
        (Kind.DO, {"done": False}, [], [True]),
    ],
)
def test_a_choice_is_judged(kind, changed, right, wrong):
    answer = view(kind, **changed).answer
    assert all(map(answer.is_right, right)) and not any(map(answer.is_right, wrong))


def test_the_second_of_three_hints_excludes_a_wrong_option_or_gives_a_range():
    first, narrowed, calculation = view().hints()
    assert first == "At “my”." and calculation == "Of .1 and .9 the second is more."
    assert narrowed in {f"It is not {label}." for label in ("“a”", "“c”", "“d”")}
    assert len(view(options=OPTIONS[:2]).hints()) == 2, "to exclude one of two would be the answer"


@pytest.mark.parametrize(
    "changed",
    [{"value": 100.0}, {"value": 0.9, "bounds": (0.0, 1.0)}]
    + [{"value": value, "tolerance": 10.0, "bounds": (0.0, 100.0)} for value in (3.0, 34.5, 65.7, 84.6, 100.0)],
)
def test_the_middle_of_a_range_is_no_answer_and_either_side_of_it_may_be(changed):
    above = set()
    for text in ("I love my teacher.", "She reads a book.", "We met him here.", "Nobody knows.", "It is late."):
        number = replace(view(Kind.NUMBER, options=(), **changed), run=run(text))
        low, high = (float(each.rstrip(".")) for each in number.narrowed().split()[3::2])
        assert low <= changed["value"] <= high and not number.answer.is_right((low + high) / 2)
        assert (low, high) != changed.get("bounds")
        above.add(changed["value"] > (low + high) / 2)
    assert len(above) == 2 or "bounds" in changed, "always the same side would tell the value"


def test_feedback_has_the_choice_its_feedback_and_the_truth():
    assert view().feedback("a") == "You said “a”. It has .1. “b” has .9."
    assert view().feedback("b") == "“b” has .9." and view().feedback("a", whole=False) == "You said “a”. It has .1."
    several = view(Kind.SEVERAL, right={"b", "c"})
    assert several.feedback(["b", "a"]).startswith("You found 1 of 2, and 1 that is wrong.")
    number = view(Kind.NUMBER, value=-2.0)
    for choice, end in ((1.5, "1.5. That is too high."), (-3, "−3. That is too low."), (-2, "−2.")):
        assert number.feedback(choice, whole=False) == f"You said {end}"
    for strange in ("something else", None, {}, [[]], True):
        assert view().feedback(strange) == "“b” has .9."


def test_the_scale_of_a_number_does_not_depend_on_its_value():
    for changed in ({"tolerance": 0.1, "bounds": (0.0, 1.0)}, {"tolerance": 4.0}, {}):
        shown = [payload_of(view(Kind.NUMBER, value=value, options=(), **changed), Try()) for value in (0.3, 0.9)]
        assert shown[0]["scale"] == shown[1]["scale"] != ""


@pytest.mark.parametrize(
    ("tokens", "meaning"),
    [
        (("▁liebe", "▁meinen", "▁Lehrer", "</s>"), " (my)"),
        (("▁meinen", "der", "</s>"), ""),  # the beginning of another word
    ],
)
def test_a_whole_word_of_the_translation_is_explained_at_its_first_occurrence(tokens, meaning, monkeypatch):
    options = (Option("a", "“▁Lehrer”"), Option("c", "“▁Ich” (token 1)"))
    step = view(options=options)
    trace = replace(step.run.trace, target_tokens=tokens)
    monkeypatch.setattr(results, "trace", lambda request: trace)
    assert [step.label(option) for option in options] == ["“Lehrer” (teacher)", "“Ich” (I, token 1)"]
    mixed = view(options=(*options, Option("b", "“▁love” (token 2)")))
    assert mixed.label(options[0]) == "“Lehrer”", "all options are explained, or none"
    texts = step.glossed([("", "About “meinen” and “meinen”.")], [("strong", "“meinen”?")])
    assert texts == [[("", f"About “meinen”{meaning} and “meinen”.")], [("strong", "“meinen”?")]]
    assert mixed.glossed([("", "“liebe”")]) == [[("", "“liebe”")]], "its meaning is an option"


def test_what_is_bold_in_an_option_is_a_part_of_its_own_and_plain_elsewhere():
    options = (Option("a", "“Er **nie** <b>** * *”"), Option("b", "“▁b”"), Option("c", "“c”"))
    step = view(options=options, right={"a"})
    shown = dict(payload_of(step, Try())["options"])
    assert shown["a"] == [("", "“Er "), ("strong", "nie"), ("", " <b>** * *”")] and shown["b"] == [("", "“b”")]
    assert step.label(options[0]) == "“Er nie <b>** * *”"
    assert replace(step, answer=replace(step.answer, right={"b"})).feedback("a").startswith("You said “Er nie <b>")


def test_an_address_may_have_the_head_that_home_shows():
    lesson = replace(LESSON, steps=(Step("attention", "Look.", {"head": "{home_head}", "query": "1"}),))
    for text in ("I love my teacher.", "The cat is hungry because it has not eaten."):
        layer, head = results.default_head(run(text).request, "cross").index
        step = pose(lesson, 0, run(text))
        assert step.address() == {"head": f"cross.{layer + 1}.{head + 1}", "query": "1"} and not unknown_names(step)


def test_options_that_look_alike_are_no_question(monkeypatch):
    alike = view(options=(Option("a", "“▁a”"), Option("b", "“a”"))).answer
    monkeypatch.setattr("headlight.lessons.step_view.answer_of", lambda *_: alike)
    assert pose(LESSON, 0, run()).undecided


def test_a_number_has_three_digits():
    assert list(map(number_words, (0.51851, -1.7, 4000.4, 12.0))) == ["0.519", "−1.7", "4,000", "12"]


def test_options_keep_their_order_for_a_sentence_and_are_not_always_right_first():
    views = [replace(view(), run=run(text)) for text in ("a b", "a b", "c d", "e f", "g h", "i j", "k l")]
    orders = [tuple(option.name for option in each.options) for each in views]
    assert orders[0] == orders[1] and len(set(orders)) > 1


def test_the_right_answer_is_not_in_the_panel_before_it_is_chosen_or_shown():
    fresh, wrong = payload_of(view(), Try()), payload_of(view(), Try("a"))
    assert fresh["right"] == wrong["right"] == fresh["hints"] == [] and ".9" not in json.dumps([fresh, wrong])
    for over in (Try("b", right=True), Try(shown=True)):
        assert payload_of(view(), over)["right"] == ["b"] and "“b” has .9." in payload_of(view(), over)["feedback"]
