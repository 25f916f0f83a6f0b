"""Lessons: walked through by mouse, keys and thumb, answered wrongly and rightly, left and resumed."""

import re
from urllib.parse import parse_qs, quote_plus, urlparse

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser import expect_accessible, go_back, wait_until_idle

from headlight.app import results
from headlight.app.results import TranslationRequest
from headlight.lessons.answer import Kind, Run
from headlight.lessons.file import Lesson, read_lessons
from headlight.lessons.step_view import StepView, pose

LESSONS = {lesson.name: lesson for lesson in read_lessons()[0]}
FIRST = next(iter(LESSONS.values()))
PHONE = {"width": 390, "height": 844}
_FOCUSED = """() => {
    let element = document.activeElement;
    while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
    return element;
}"""
# A figure reports where it stands a moment after it is drawn (components/lib/leaving.js).
_REPORTED = "() => !window[Symbol.for('leaving the page')]?.pending.size"
_DISTANCE = """element => {
    const { activeElement } = element.getRootNode();
    return activeElement && element.compareDocumentPosition(activeElement);
}"""


class Thumb:
    """A visitor on a phone, where the sheet makes room as soon as the page is touched."""

    def __init__(self, page: Page):
        self.page = page

    def __call__(self, element: Locator) -> None:
        element.tap()

    def go_on(self) -> None:
        self.page.touchscreen.tap(195, 4)
        expect(self.page.locator(".lesson.low")).to_have_count(1)
        assert self.page.locator(".lesson").bounding_box()["height"] <= 0.3 * PHONE["height"]
        self(self.page.locator(".lesson .next"))

    def expect_focus(self) -> None:
        """Expect what this visitor needs of the focus."""


class Keys(Thumb):
    """A visitor with a keyboard alone: the focus stays in the panel, and Tab finds everything in it."""

    def __call__(self, element: Locator) -> None:
        if element.evaluate("element => !element.closest('.lesson')"):
            element.focus()  # on the way to the first step
        for _ in range(20):
            distance = element.evaluate(_DISTANCE)  # 2: the focus is before the element; null: nowhere
            if distance is None:
                self.expect_focus()
            elif distance == 0:
                self.page.keyboard.press("Enter")
                return
            else:
                self.page.keyboard.press("Tab" if distance & 2 else "Shift+Tab")
        raise AssertionError("Tab does not lead there")

    def go_on(self) -> None:
        if self.page.evaluate(f"() => /INPUT|TEXTAREA/.test(({_FOCUSED})()?.tagName)"):
            self(self.page.locator(".lesson .next"))
        else:
            self.page.keyboard.press("ArrowRight")

    def expect_focus(self) -> None:
        self.page.wait_for_function(f"() => ({_FOCUSED})()?.closest('.lesson')")


def question_on(page: Page, lesson: Lesson) -> StepView:
    """Return the step that the panel shows, for the sentence in the bar."""
    number = int(parse_qs(urlparse(page.url).query)["lesson"][0].split(".")[1]) - 1
    text = page.get_by_label("Sentence to translate").input_value()
    return pose(lesson, number, Run(TranslationRequest(results.checkpoint("en-de"), text)))


def arrive(page: Page) -> None:
    wait_until_idle(page)
    page.wait_for_function(_REPORTED)
    wait_until_idle(page)
    expect(page.locator(".lesson")).to_have_attribute("aria-busy", "false")


def expect_step(page: Page, lesson: Lesson, number: int) -> None:
    expect(page.locator(".lesson .place")).to_have_text(f"{number} of {len(lesson.steps)}")
    arrive(page)


def begin(page: Page, address: str, lesson: Lesson = FIRST) -> None:
    page.goto(f"{address}/lessons")
    page.locator(f".st-key-begin_{lesson.name} button").filter(visible=True).click()
    expect_step(page, lesson, 1)


def go_to_choice(page: Page, lesson: Lesson) -> StepView:
    """Go on until a question with one right option."""
    for number in range(1, len(lesson.steps) + 1):
        expect_step(page, lesson, number)
        question = question_on(page, lesson)
        if question.answer and question.step.is_question and question.answer.kind == Kind.ONE:
            return question
        page.locator(".lesson .next").click()
    raise AssertionError(f"{lesson.name} has no such question")


def option(page: Page, question: StepView, *, right: bool) -> Locator:
    names = [each.name for each in question.options]
    number = next(at for at, name in enumerate(names) if (name in question.answer.right) == right)
    return page.locator(".lesson .options button").nth(number)


def test_a_wrong_answer_a_hint_and_the_right_one_which_this_browser_remembers(page, address, elsewhere):
    begin(page, address)
    question, feedback = go_to_choice(page, FIRST), page.locator(".lesson .feedback")
    option(page, question, right=False).click()
    expect(feedback).not_to_be_empty()
    assert question.fill(question.answer.truth) not in feedback.inner_text()
    page.locator(".lesson .hint").click()
    expect(page.locator(".lesson .hints li")).to_have_text([question.hints()[0]])
    arrive(page)
    expect_accessible(page)
    option(page, question, right=True).click()
    expect(feedback).to_contain_text(question.fill(question.answer.truth))
    other = elsewhere(page.url)
    expect(other.locator(".lesson .options button").first).to_be_visible()
    expect(other.locator(".lesson .feedback")).to_have_text("")
    sentence = page.get_by_role("textbox", name="Sentence to translate")
    for text, count in (("I love my teacher.", 0), (question.run.request.text, 1)):
        arrive(page)
        sentence.fill(text)
        sentence.press("Enter")
        expect(page.locator(".lesson .options .right")).to_have_count(count)
    page.reload()
    expect(feedback).to_contain_text(question.fill(question.answer.truth))
    page.goto(f"{address}/lessons")
    expect(page.locator(f".st-key-lesson_card_{FIRST.name}")).to_contain_text("1 of ")


def test_back_restores_page_and_step_and_the_lesson_is_left(page, address):
    begin(page, address)
    path = urlparse(page.url).path
    page.keyboard.press("PageDown")
    expect_step(page, FIRST, 2)
    go_back(page)
    expect_step(page, FIRST, 1)
    page.locator(".lesson .pages").click()
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Inside").click()
    expect(page.get_by_role("heading", name="Inside", exact=True)).to_be_visible()
    wait_until_idle(page)
    page.locator(".lesson .back_to").click()
    page.wait_for_url(f"**{path}?**")
    expect_step(page, FIRST, 1)
    page.locator(".lesson .leave").click()
    expect(page.locator(".lesson")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("lesson="))


@pytest.mark.parametrize(("name", "hand"), [("attention", Keys), ("heads", Thumb)])
def test_a_lesson_is_walked_through_to_its_end(visitor, address, name, hand):
    """Each question is answered rightly, every other one wrongly first."""
    page, lesson = visitor("walk", **(PHONE | {"has_touch": True} if hand is Thumb else {})), LESSONS[name]
    press = hand(page)
    page.goto(f"{address}/lessons")
    press(page.locator(f".st-key-begin_{name} button").filter(visible=True))
    for number, step in enumerate(lesson.steps, start=1):
        expect_step(page, lesson, number)
        press.expect_focus()
        assert urlparse(page.url).path.strip("/") == ("" if step.page == "home" else step.page)
        question = question_on(page, lesson)
        assert not question.undecided, question.undecided
        if step.is_question:
            answer_question(page, question, press, wrong_first=number % 2 == 1)
            expect_shown(page, question)
            press.expect_focus()
        elif step.note:
            page.get_by_role("textbox", name="Your observation").fill("seen")
            page.get_by_text("Compare with an answer").click()
            expect(page.locator(".lesson .sample p")).to_be_visible()
        press.go_on()
    if hand is Thumb:
        expect_accessible(page)
    expect(page.locator(".lesson .say")).to_contain_text(lesson.closing or lesson.goal)
    wait_until_idle(page)
    press.expect_focus()
    press(page.locator(".lesson .all"))
    expect(page.get_by_role("heading", name="Lessons", exact=True)).to_be_visible()


def expect_shown(page: Page, question: StepView) -> None:
    """Expect the figure that shows an answer, by the measured values of its address."""
    for name, value in question.address(shown=True).items():
        # An address leaves out the heads that are off at the beginning.
        if question.answer.kind != Kind.DO and name != "off" and value != question.step.show.get(name, value):
            expect(page).to_have_url(re.compile(rf"[?&]{name}={re.escape(quote_plus(value))}(&|$)"))
    arrive(page)


def test_the_head_of_a_step_is_that_of_each_new_sentence(page, address):
    page.goto(f"{address}/?lesson={FIRST.name}.4&text=I+love+my+teacher.")
    for text in ("The cat is hungry because it has not eaten.", "I think that he has never read this book."):
        expect_step(page, FIRST, 4)
        sentence = page.get_by_role("textbox", name="Sentence to translate")
        sentence.fill(text)
        sentence.press("Enter")
        layer, head = results.default_head(TranslationRequest(results.checkpoint("en-de"), text), "cross").index
        expect(page).to_have_url(re.compile(rf"head=cross\.{layer + 1}\.{head + 1}(&|$)"))


def answer_question(page: Page, question: StepView, press: Thumb, *, wrong_first: bool) -> None:
    """Answer a question; show a task's solution."""
    answer, feedback = question.answer, page.locator(".lesson .feedback")
    if answer.kind == Kind.DO:
        press(page.locator(".lesson .show"))
        expect(feedback).not_to_have_text("")
        arrive(page)
        return
    if answer.kind == Kind.NUMBER:
        values = [answer.value + 2 * answer.margin] * wrong_first + [answer.value]
        for value in values:
            page.get_by_label("Your number").fill(f"{value:.6g}")
            press(page.locator(".lesson form button"))
            expect(feedback).not_to_have_text("")
            arrive(page)
    else:
        if wrong_first and answer.kind == Kind.ONE:
            press(option(page, question, right=False))
            expect(feedback).not_to_have_text("")
            press.expect_focus()
        for number, each in enumerate(question.options):
            if each.name in answer.right:
                press(page.locator(".lesson .options button").nth(number))
        if answer.kind == Kind.SEVERAL:
            press(page.locator(".lesson .check"))
    expect(feedback).to_contain_text(question.fill(answer.truth))
