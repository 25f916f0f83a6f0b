"""The bank of the quiz: forms and sources, solvers who see the options alone, learners with one misconception."""

import re
from collections import Counter

import pytest
from support.source_files import ROOT

from headlight import language
from headlight.classroom import PER_FORM, Quiz
from headlight.lessons import quiz
from headlight.lessons.answer import Run, Undecided
from headlight.lessons.file import read_lessons
from headlight.lessons.quiz import class_quiz, quiz_items
from headlight.lessons.quiz_bank import bank
from transformer.errors import UserError

TABLES = {table["name"]: table for table in bank()["item"]}
LESSONS = {lesson.name: lesson for lesson in read_lessons()[0]}
# What a learner with one misconception looks for in the options: words of the belief itself.
BELIEFS = {
    "importance": r"important",
    "probability": r"how sure|the probability of .* has fallen",
    "counts": r"how often .* training texts",
    "swapped": r"key of the reading|those after it|before the fourth|“moon” was read",
    "dictionary": r"dictionary",
    "own_position": r"same place|own place",
    "order_known": r"sees which word comes first",
    "later": r"later ones|sees the whole translation",
    "programmed": r"rules demand|programmed",
    "learning": r"next translation is better|has got used|has learned",
    "lost_word": r"word is lost|they are lost|reads the words that are its own",
    "one_head": r"does the translating|did the translating",
    "display": r"only show",
    "copies": r"the same weights",
    "winner": r"all others zero|gets all",
    "proportional": r"divides each score by the sum",
    "share_lost": r"is lost\.$",
    "even": r"evenly",
}
AT_MOST = 0.25 + 0.10  # share of right answers of a solver who knows nothing


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


SOLVERS = {
    "longest": lambda item, option: len(option),
    "shortest": lambda item, option: -len(option),
    "most shared words": lambda item, option: len(words(option) & words(item.text)),
    "largest share of shared words": lambda item, option: len(words(option) & words(item.text)) / len(words(option)),
} | {f"place {at}": lambda item, option, at=at: item.options.index(option) == at for at in range(4)}


def test_four_ideas_have_three_items_each_and_both_forms_are_parallel():
    items = quiz_items()
    forms = [[item for item in items if item.form == form] for form in "AB"]
    assert Counter(item.idea for item in items) == dict.fromkeys(bank()["ideas"], 3)
    assert [len(form) for form in forms] == [PER_FORM, PER_FORM] and len(items) == 2 * PER_FORM
    assert [item.level for item in forms[0]] == [item.level for item in forms[1]]
    assert [Counter(item.level for item in form) for form in forms] == 2 * [{"fact": 3, "consequence": 3}]
    assert all(set(bank()["ideas"]) == {item.idea for item in form} for form in forms)


def test_each_wrong_option_is_a_misconception_with_a_source():
    known = bank()["misconceptions"]
    used = {name for item in quiz_items() for name in item.misconceptions if name}
    assert used == set(known) == set(BELIEFS)
    assert all(len(set(item.options)) == 4 and item.misconceptions.count("") == 1 for item in quiz_items())
    assert all(each["source"] and each["says"] and each["short"] for each in known.values())


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", language.LANGUAGES)
def test_a_solver_who_sees_the_options_alone_is_hardly_better_than_chance(name, solver, monkeypatch):
    monkeypatch.setattr(language, "_chosen", [lambda: name])
    for form in ("A", "B", "AB") if solver.startswith("place") else ("AB",):
        items, right = [item for item in quiz_items() if item.form in form], 0.0
        for item in items:
            keys = [SOLVERS[solver](item, option) for option in item.options]
            best = [at for at, each in enumerate(keys) if each == max(keys)]
            right += (item.right in best) / len(best)
        assert right / len(items) <= AT_MOST


@pytest.mark.parametrize("belief", BELIEFS)
def test_a_learner_with_one_misconception_takes_the_options_made_for_it(belief):
    """A learner guesses where no option says what they believe: they are right in less than half."""
    right = 0.0
    for item in quiz_items():
        held = [at for at, option in enumerate(item.options) if re.search(BELIEFS[belief], option, re.IGNORECASE)]
        made = [at for at, name in enumerate(item.misconceptions) if name == belief]
        assert held == made, item.name
        right += 0.0 if held else 0.25
    assert right / len(quiz_items()) < 0.5


def test_each_item_is_taught_by_a_step_and_stands_in_none():
    matrix = (ROOT / "docs" / "quiz.md").read_text(encoding="utf-8")
    texts = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "headlight/lessons/shipped").glob("*.toml"))
    for item in quiz_items():
        table, steps = TABLES[item.name], TABLES[item.name]["taught"]
        for step in steps:
            name, _, number = step.partition(".")
            assert 1 <= int(number) <= len(LESSONS[name].steps), step
        assert f"| `{item.name}` | {item.idea} | {item.level} | {item.form} | {', '.join(steps)} |" in matrix
        for text in (table["ask"], *(option["say"] for option in table["options"])):
            assert texts.count(text) == 1, "in the quiz alone"


def test_an_item_about_a_model_is_what_the_model_does(monkeypatch):
    """The facts hold for the first sentence that shows them; without any the quiz says so."""
    items = {item.name: item for item in quiz_items()}
    questions = {name: items[name].text for name, table in TABLES.items() if "fact" in table}
    assert len(questions) == 3 and not any("{" in text for text in questions.values())
    seen: list[str] = []

    def never(run: Run) -> quiz.Fact:
        seen.append(run.request.text)
        raise Undecided("Not here.")

    def second_shows(run: Run) -> quiz.Fact:
        return ("few" if run.request.text == seen[1] else "other"), {"count": 4, "heads": 72}

    monkeypatch.setitem(quiz.FACTS, "heads_that_matter", never)
    with pytest.raises(UserError, match="heads_1"):
        quiz._item(TABLES["heads_1"])
    assert seen == TABLES["heads_1"]["sentences"]
    monkeypatch.setitem(quiz.FACTS, "heads_that_matter", second_shows)
    item = quiz._item(TABLES["heads_1"])
    assert item.options[item.right].startswith("In 4:") and seen[1] in item.text


def test_a_phone_gets_one_form_before_and_the_other_one_after():
    before, after = (class_quiz(when) for when in ("before", "after"))
    forms = Counter()
    for number in range(400):
        first, last = (quiz.items_for(f"phone {number}") for quiz in (before, after))
        assert {item.form for item in first} ^ {item.form for item in last} == {"A", "B"}
        forms[first[0].form] += 1
    assert 160 < forms["A"] < 240
    assert Quiz(when="after", items=[vars(item) for item in before.items]) == Quiz("after", before.items)
