"""Lessons in the one-file page: predict, look, go on, from a disk and without a network."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser import expect_accessible, go_to, show
from support.traces import CHECKPOINTS

from headlight.lessons.export import export_lessons
from headlight.lessons.file import read_lessons
from headlight.views.live.content import live_file
from transformer.checkpoint import load_checkpoint

OWN = "My sister bought a red car yesterday."


@pytest.fixture(scope="module")
def exported() -> dict:
    return export_lessons(read_lessons()[0], CHECKPOINTS / "en-de")


@pytest.fixture(scope="module")
def lessons(exported) -> dict[str, dict]:
    return {lesson["name"]: lesson for lesson in exported["lessons"]}


@pytest.fixture(scope="module")
def file(exported) -> str:
    return live_file(load_checkpoint(CHECKPOINTS / "en-de"), "en-de", lessons=exported)


def answer_of(page: Page, lesson: dict, number: int) -> dict:
    """The exported answer of a step, from 1, for the sentence in the field."""
    step = lesson["steps"][number - 1]
    return step["answers"].get(page.locator("#live_text").input_value()) or next(iter(step["answers"].values()))


def option(page: Page, answer: dict, *, right: bool) -> Locator:
    names = [name for name, _ in answer["panel"]["options"]]
    at = next(at for at, name in enumerate(names) if (name in answer["told"]["right"]) == right)
    return page.locator(".lesson .options button").nth(at)


def is_at(page: Page, lesson: dict, number: int) -> None:
    expect(page.locator(".lesson .title")).to_have_text(lesson["title"])
    expect(page.locator(".lesson .place")).to_have_text(f"{number} of {len(lesson['steps'])}")


def begin(page: Page, lesson: dict) -> None:
    page.locator("[data-tab=lessons]").click()
    page.get_by_role("button", name=f"Begin: {lesson['title']}").click()
    is_at(page, lesson, 1)


def answer_rightly(page: Page, answer: dict) -> None:
    told, kind = answer["told"], answer["panel"]["kind"]
    if kind == "number":
        page.get_by_label("Your number").fill(str(round(told["value"], 4)))
    for name in told["right"]:
        names = [each for each, _ in answer["panel"]["options"]]
        page.locator(".lesson .options button").nth(names.index(name)).click()
    if kind != "one":
        page.get_by_role("button", name="Check").click()
    expect(page.locator(".lesson .feedback")).to_contain_text(told["truth"])


def test_a_lesson_to_its_end(live, lessons):
    page, lesson = live(), lessons["attention"]
    begin(page, lesson)
    feedback, following = page.locator(".lesson .feedback"), page.get_by_role("button", name="Next →")
    answer, lines = answer_of(page, lesson, 1), page.locator("[data-view=home] .component")

    # A wrong prediction, a hint, and the right one.
    option(page, answer, right=False).click()
    expect(feedback).to_contain_text("Not yet. You said")
    page.get_by_role("button", name="Hint (3 left)").click()
    expect(page.locator(".lesson .hints li")).to_have_text([answer["told"]["hints"][0]])
    option(page, answer, right=True).click()
    expect(feedback).to_contain_text("Right! ")
    page.get_by_role("button", name="Show me").click()
    expect(page.locator(f"body[data-shown={answer['shown']['view']}]")).to_be_attached()

    for number in range(2, len(lesson["steps"]) + 1):
        following.click()
        is_at(page, lesson, number)
        answer = answer_of(page, lesson, number)
        expect(page.locator(f"body[data-shown={answer['at']['view']}]")).to_be_attached()
        is_veiled = "home_lines" in lesson["steps"][number - 1]["veil"]
        if is_veiled:
            expect(lines).to_have_class(re.compile("veiled"))
        if lesson["steps"][number - 1]["judged"]:
            answer_rightly(page, answer)
        if is_veiled:
            expect(lines).not_to_have_class(re.compile("veiled"))
    page.get_by_role("button", name="Finish").click()
    judged = sum(step["judged"] for step in lesson["steps"])
    expect(feedback).to_have_text(f"All {judged} right!")
    page.reload()
    expect(feedback).to_have_text(f"All {judged} right!")
    page.get_by_role("button", name="All lessons").click()
    expect(page.get_by_role("button", name=f"Go on: {lesson['title']}")).to_be_visible()


def test_another_sentence_is_translated_and_the_lessons_own_comes_back(live, lessons):
    page, lesson = live(), lessons["attention"]
    begin(page, lesson)
    own = page.locator("#live_text").input_value()
    page.locator("#live_text").fill(OWN)
    expect(page.locator(".lesson .undecided")).to_have_text("This step is about another sentence.")
    expect(page.locator("#live_translation")).to_contain_text("Schwester")
    page.get_by_role("button", name="Take a sentence that decides it").click()
    expect(page.locator("#live_text")).to_have_value(own)
    expect(page.locator(".lesson .options button").first).to_be_visible()
    page.get_by_role("button", name="Leave the lesson").click()
    expect(page.locator(".lesson")).to_be_hidden()
    assert "lesson" not in page.url


def test_the_small_example_is_there_to_compute_by_hand(live, lessons):
    page, lesson = live(), lessons["qkv"]
    begin(page, lesson)
    inside = page.locator("[data-view=inside]")
    expect(inside.locator(".component")).to_contain_text("token 3")
    expect(inside.locator(".choices")).to_be_hidden()
    answer_rightly(page, answer_of(page, lesson, 1))


def test_a_step_without_its_figure_says_where_the_app_has_it(live, lessons):
    page, lesson = live(), lessons["order"]
    places = [next(iter(step["answers"].values()))["at"]["missing"] for step in lesson["steps"]]
    number = next(at + 1 for at, missing in enumerate(places) if missing)
    go_to(page, "home", lesson=f"order.{number}", text=next(iter(lesson["steps"][number - 1]["answers"])))
    is_at(page, lesson, number)
    expect(page.locator(".missing")).to_have_text(places[number - 1])


def test_an_address_that_names_no_lesson_shows_none(live):
    page = live()
    for place in ("nonsense.2", "constructor.1", "<b>.1"):
        show(page, "home", lesson=place)
        expect(page.locator(".lesson_side")).to_be_hidden()


@pytest.mark.parametrize("scheme, width", [("dark", 390), ("light", 1366)])
def test_it_shuts_no_one_out_and_fits_its_screen(live, lessons, scheme, width):
    page = live(scheme, width)
    page.locator("[data-tab=lessons]").click()
    expect(page.locator("body[data-shown=lessons]")).to_be_attached()
    expect_accessible(page)
    for name in ("attention", "heads"):
        show(page, "lessons")
        begin(page, lessons[name])
        expect_accessible(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
