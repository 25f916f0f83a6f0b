"""A step put to a learner: texts are filled, choices judged, and nothing tells what is right before it was found."""

import json
from dataclasses import replace

import pytest

from headlight.app import results
from headlight.app.results import TranslationRequest
from headlight.lessons.answer import Answer, Kind, Option, Run, number_words
from headlight.lessons.file import Lesson, Step
from headlight.lessons.posed import Posed, Try, payload_of, pose, pose_somehow

OPTIONS = (Option("a", "“▁a”", "It has .1."), Option("b", "“▁b”", "It has .9."), Option("c", "“c”"), Option("d", "“d”"))


def run(text="I love my teacher.", checkpoint="en-de"):
    return Run(TranslationRequest(results.checkpoint(checkpoint), text))


def answer(kind=Kind.ONE, **changed):
    given = {"options": OPTIONS, "right": frozenset("b"), "names": {"word": "▁my", "row": "3"}, **changed}
    return Answer(kind, "“▁b” has .9.", "Of .1 and .9 the second is more.", **given)


def posed(kind=Kind.ONE, **changed):
    step = Step(
        "home",
        "Look at **{word}** and *more* `x_1`.",
        {"query": "{row}"},
        "Which of “{word}”?",
        "most_read",
        hints=("At “{word}”.",),
        show={"key": "{row}"},
    )
    return Posed(Lesson("own", "Own", "Goal", 5, (step,)), 0, run(), answer(kind, **changed))


def test_texts_are_filled_and_styled_and_tokens_read_as_words():
    assert posed().text(posed().step.say) == [
        ("", "Look at "), ("strong", "my"), ("", " and "), ("em", "more"), ("", " "), ("code", "x_1"), ("", "."),
    ]  # fmt: skip
    assert posed().fill("{word} {unknown}") == "my {unknown}"
    assert posed().address() == {"query": "3"} and posed().address(shown=True) == {"query": "3", "key": "3"}
    assert posed(names={}).address() is None


@pytest.mark.parametrize(
    "changed", [{"text": "I hate my teacher."}, {"language": "fr"}, {"source_language": "fr"}, {"task": "summarize"}]
)
def test_another_text_language_or_task_asks_anew(changed):
    asked = posed()
    request = replace(asked.run.request, **changed)
    assert replace(asked, run=Run(request)).key != asked.key == posed().key


def test_a_token_that_looks_like_markup_or_a_name_stays_what_it_is():
    hostile = posed(names={"word": "**{row}**<b>", "row": "1"})
    assert ("strong", "**{row}**<b>") in hostile.text(hostile.step.say)


@pytest.mark.parametrize(
    ("kind", "changed", "right", "wrong"),
    [
        (Kind.ONE, {}, ["b"], ["a", "x", None, 3, ["a"], {}, {"b": 1}, [["b"]]]),
        (
            Kind.SEVERAL,
            {"right": frozenset("bc")},
            [["b", "c"], ["c", "b"]],
            [["b"], ["a", "b", "c"], [], "b", None, [{}, "b"], {"b": 1, "c": 1}],
        ),
        (Kind.NUMBER, {"value": -50.0}, [-50, -49.1, -50.9], [50, -48, "−50", None, True, float("nan"), float("inf")]),
        (Kind.NUMBER, {"value": 0.5, "tolerance": 0.1}, [0.41, 0.6], [0.39, 0.61]),
        (Kind.DO, {"done": True}, [True], []),
        (Kind.DO, {"done": False}, [], [True]),
    ],
)
def test_a_choice_is_judged(kind, changed, right, wrong):
    asked = answer(kind, **changed)
    assert all(asked.is_right(choice) for choice in right)
    assert not any(asked.is_right(choice) for choice in wrong)


def test_hints_come_in_three_stages_and_the_second_leaves_the_right_one():
    look, narrowed, calculated = posed().hints()
    assert look == "At “my”." and calculated == "Of .1 and .9 the second is more."
    assert narrowed in {f"It is not {label}." for label in ("“a”", "“c”", "“d”")}
    _, between, _ = posed(Kind.NUMBER, value=100.0, options=()).hints()
    assert between == "It lies between 70 and 140."
    _, between, _ = posed(Kind.NUMBER, value=0.9, options=(), bounds=(0.0, 1.0)).hints()
    assert between == "It lies between 0.63 and 1."
    few = posed(options=OPTIONS[:2])
    assert len(few.hints()) == 2, "to say that it is not the one of two would be the answer"


def test_feedback_says_what_was_predicted_and_what_is():
    assert posed().feedback("a") == "You said “a”. It has .1. “b” has .9."
    assert posed().feedback("b") == "“b” has .9.", "one statement for what is right"
    assert posed().feedback("a", whole=False) == "You said “a”. It has .1."
    several = posed(Kind.SEVERAL, right=frozenset("bc"))
    assert several.feedback(["b", "a"]).startswith("You found 1 of 2, and 1 that is wrong.")
    number = posed(Kind.NUMBER, value=-2.0)
    assert number.feedback(1.5) == "You said 1.5. That is too high. “b” has .9."
    assert number.feedback(-3, whole=False) == "You said −3. That is too low."
    assert number.feedback(-2, whole=False) == "You said −2."
    for strange in ("something else", None, {}, [[]], True):
        assert posed().feedback(strange) == "“b” has .9."


@pytest.mark.parametrize(
    ("changed", "scale"),
    [
        ({"tolerance": 0.1, "bounds": (0.0, 1.0)}, "From 0 to 1. Within 0.1 of it counts as right."),
        ({"tolerance": 4.0}, "Within 4 of it counts as right."),
        ({"relative": 0.1}, "Within 10 % of it counts as right."),
    ],
)
def test_of_a_number_its_scale_is_said_and_that_tells_nothing_of_it(changed, scale):
    for value in (0.3, 0.9):
        assert payload_of(posed(Kind.NUMBER, value=value, options=(), **changed), Try())["scale"] == scale


def test_words_of_the_translation_are_explained_where_they_first_stand():
    options = (Option("a", "“▁Lehrer”"), Option("c", "“▁Ich” (token 1)"))
    asked = posed(options=options)
    assert [asked.label(option) for option in options] == ["“Lehrer” (teacher)", "“Ich” (I, token 1)"]
    mixed = posed(options=(*options, Option("b", "“▁love” (token 2)")))
    assert mixed.label(options[0]) == "“Lehrer”", "all options are explained, or none"
    said, again = asked.glossed([("", "About “meinen” and “meinen”.")], [("strong", "“meinen”?")])
    assert said == [("", "About “meinen” (my) and “meinen”.")] and again == [("strong", "“meinen”?")]
    assert mixed.glossed([("", "“liebe”")]) == [[("", "“liebe”")]], "its meaning is an option"
    french = Posed(
        asked.lesson, 0, run(checkpoint="en-fr"), replace(asked.answer, options=(Option("d", "“professeur”"),))
    )
    assert french.label(french.options[0]) == "“professeur” (teacher)"


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (("▁Freund", "es", "</s>"), "“·es”"),  # an ending
        (("▁das", "selbe", "</s>"), "“das”"),  # the beginning of another word
        (("▁sie", "▁das", "</s>"), "“das” (the/that/which)"),
    ],
)
def test_a_piece_of_a_word_has_no_meaning_of_its_own(tokens, said, monkeypatch):
    asked = posed(options=())
    trace = replace(asked.run.trace, target_tokens=tokens)
    monkeypatch.setattr(results, "trace", lambda request: trace)
    assert asked.glossed([("", said.partition(" ")[0])]) == [[("", said)]]


def test_labels_stand_in_quotation_marks_within_a_sentence():
    options = (Option("a", "more than that changes"), Option("b", "nothing changes"), Option("c", "“▁x” of the source"))
    asked = posed(options=options)
    assert asked.feedback("a", whole=False) == "You said “more than that changes”."
    assert asked.feedback("c", whole=False) == "You said “x” of the source."
    assert asked.hints()[1] in ("It is not “more than that changes”.", "It is not “x” of the source.")


def test_options_that_look_alike_are_not_asked_about(monkeypatch):
    alike = answer(options=(Option("a", "“▁a”"), Option("b", "“a”")))
    monkeypatch.setattr("headlight.lessons.posed.answer_of", lambda *_: alike)
    assert "look alike" in pose(posed().lesson, 0, run()).undecided


def test_a_step_that_a_sentence_does_not_decide_shows_no_names_that_nothing_fills():
    step = Posed(posed().lesson, 0, run(), undecided="It decides nothing.")
    assert payload_of(step, Try())["say"] == [] and payload_of(step, Try())["undecided"] == "It decides nothing."


@pytest.mark.parametrize(("value", "words"), [(0.51851, "0.519"), (-1.7, "−1.7"), (4000.4, "4,000"), (12.0, "12")])
def test_a_number_has_three_digits(value, words):
    assert number_words(value) == words


def test_options_keep_their_order_for_a_sentence_and_are_not_always_right_first():
    assert [option.name for option in posed().options] == [option.name for option in posed().options]
    orders = set()
    for text in ("a b", "c d", "e f", "g h", "i j", "k l"):
        step = posed()
        orders.add(tuple(option.name for option in Posed(step.lesson, 0, run(text), step.answer).options))
    assert len(orders) > 1


def test_what_is_right_is_not_in_the_panel_before_it_was_found_or_shown():
    step = posed()
    fresh = payload_of(step, Try())
    assert fresh["right"] == [] and fresh["feedback"] == "" and fresh["hints"] == []
    wrong = payload_of(step, Try("a"))
    assert wrong["right"] == [] and ".9" not in json.dumps(wrong)
    for over in (Try("b", right=True), Try(shown=True)):
        assert payload_of(step, over)["right"] == ["b"] and "“b” has .9." in payload_of(step, over)["feedback"]


def test_another_sentence_is_taken_where_this_one_decides_nothing_and_said_where_none_does():
    lesson = Lesson(
        "own", "Own", "Goal", 5, (Step("home", "x", ask="?", answer="most_read", arguments={"kind": "decoder"}),)
    )
    nothing = pose(lesson, 0, run("No!"))
    somehow = pose_somehow(lesson, 0, run("No!"), ["No!", "Yesterday I saw your brother in the city."])
    if nothing.undecided:
        assert somehow.answer and somehow.run.request.text.startswith("Yesterday")
    else:
        assert somehow.run.request.text == "No!"
    assert somehow.key != nothing.key or somehow.run == nothing.run
