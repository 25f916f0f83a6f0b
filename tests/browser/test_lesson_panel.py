"""Lessons before a real browser: from the first card to the end, by mouse, keys and thumb, right and wrong."""

import re
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser import expect_accessible, go_back, wait_until_idle

from headlight.app import results
from headlight.app.results import TranslationRequest
from headlight.lessons.answer import Kind, Run
from headlight.lessons.file import Lesson, read_lessons
from headlight.lessons.posed import Posed, pose

LESSONS = read_lessons()[0]
FIRST = LESSONS[0]
PHONE = {"width": 390, "height": 844}


class Mouse:
    """How a visitor presses what the panel has, and goes on to the next step."""

    def __init__(self, page: Page):
        self.page = page

    def __call__(self, place: Locator) -> None:
        place.click()

    def go_on(self) -> None:
        self(self.page.locator(".lesson .next"))

    def expect_focus(self) -> None:
        """Expect what this hand needs of the focus."""


class Thumb(Mouse):
    """On a phone, where the sheet makes room as soon as the page is touched."""

    def __call__(self, place: Locator) -> None:
        place.tap()

    def go_on(self) -> None:
        self.page.touchscreen.tap(195, 4)
        expect(self.page.locator(".lesson.low")).to_have_count(1)
        assert self.page.locator(".lesson").bounding_box()["height"] <= 0.3 * PHONE["height"]
        super().go_on()


class Keys(Mouse):
    """By keyboard alone: the focus is in the panel whatever comes; Tab and Shift+Tab find everything in it."""

    def __call__(self, place: Locator) -> None:
        if place.evaluate("element => !element.closest('.lesson')"):
            place.focus()  # on the way to the first step
        for _ in range(20):
            # 2: what has the focus comes before it (Node.DOCUMENT_POSITION_PRECEDING); null: nothing has it just then.
            where = place.evaluate(_WHERE)
            if where is None:
                self.expect_focus()
            elif where == 0:
                self.page.keyboard.press("Enter")
                return
            else:
                self.page.keyboard.press("Tab" if where & 2 else "Shift+Tab")
        raise AssertionError("Tab does not lead there")

    def go_on(self) -> None:
        self.page.keyboard.press("PageDown" if self.in_a_field() else "ArrowRight")
        if self.in_a_field():  # where keys write
            super().go_on()

    def in_a_field(self) -> bool:
        return self.page.evaluate("() => /INPUT|TEXTAREA/.test((" + _FOCUSED + ")()?.tagName)")

    def expect_focus(self) -> None:
        self.page.wait_for_function("() => (" + _FOCUSED + ")()?.closest('.lesson')")


_WHERE = """element => {
    const { activeElement } = element.getRootNode();
    return activeElement && element.compareDocumentPosition(activeElement);
}"""
_FOCUSED = """() => {
    let element = document.activeElement;
    while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
    return element;
}"""
# All of them, by three hands: each goes from one to the next.
WALKS = {"mouse": (LESSONS[:4], Mouse), "keys": (LESSONS[4:7], Keys), "thumb": (LESSONS[7:], Thumb)}


def posed_on(page: Page, lesson: Lesson) -> Posed:
    """The step that the panel shows, put for the sentence in the bar."""
    number = int(parse_qs(urlparse(page.url).query)["lesson"][0].split(".")[1]) - 1
    text = page.get_by_label("Sentence to translate").input_value()
    return pose(lesson, number, Run(TranslationRequest(results.checkpoint("en-de"), text)))


def begin(page: Page, address: str, lesson: Lesson = FIRST) -> None:
    page.goto(f"{address}/lessons")
    page.locator(f".st-key-begin_{lesson.name} button").filter(visible=True).click()
    expect(page.locator(".lesson .place")).to_have_text(f"1 of {len(lesson.steps)}")
    wait_until_idle(page)


def to_step(page: Page, lesson: Lesson, wanted: Kind) -> Posed:
    """Go on until a question of a kind."""
    for number in range(1, len(lesson.steps) + 1):
        expect(page.locator(".lesson .place")).to_have_text(f"{number} of {len(lesson.steps)}")
        wait_until_idle(page)
        posed = posed_on(page, lesson)
        if posed.answer and posed.step.is_question and posed.answer.kind == wanted:
            return posed
        page.locator(".lesson .next").click()
    raise AssertionError(f"{lesson.name} has no question of this kind")


def option(page: Page, posed: Posed, *, right: bool):
    name = next(each.name for each in posed.options if (each.name in posed.answer.right) == right)
    return page.locator(".lesson .options button").nth([each.name for each in posed.options].index(name))


def test_a_wrong_answer_a_hint_and_the_right_one(page, address, elsewhere):
    begin(page, address)
    posed = to_step(page, FIRST, Kind.ONE)
    feedback = page.locator(".lesson .feedback")
    option(page, posed, right=False).click()
    expect(feedback).to_contain_text("Not yet. You said")
    assert posed.fill(posed.answer.truth) not in feedback.inner_text()
    page.locator(".lesson .hint").click()
    expect(page.locator(".lesson .hints li")).to_have_text([posed.hints()[0]])
    arrived(page)
    expect_accessible(page)
    option(page, posed, right=True).click()
    expect(feedback).to_contain_text("Right! ")
    expect(feedback).to_contain_text(posed.fill(posed.answer.truth))
    expect(page.locator(".lesson .options .right")).to_have_count(len(posed.answer.right))
    page.reload()
    expect(feedback).to_contain_text("Right! ")
    link = page.url
    page.goto(f"{address}/lessons")  # a new visit: what the browser remembers is told without opening a step
    expect(page.locator(f".st-key-lesson_card_{FIRST.name}")).to_contain_text("1 of ")
    other = elsewhere()
    other.goto(link)
    expect(other.locator(".lesson .options button").first).to_be_visible()
    wait_until_idle(other)
    expect(other.locator(".lesson .feedback")).to_have_text("")
    expect(other.locator(".lesson .options .right")).to_have_count(0)


def test_the_home_leads_into_the_first_lesson_and_another_sentence_asks_anew(page, address):
    page.goto(address)
    page.locator(".st-key-first_lesson button").click()
    expect(page.locator(".lesson .place")).to_have_text(f"1 of {len(FIRST.steps)}")
    wait_until_idle(page)
    posed = to_step(page, FIRST, Kind.ONE)
    option(page, posed, right=True).click()
    expect(page.locator(".lesson .feedback")).to_contain_text("Right!")
    sentence = page.get_by_role("textbox", name="Sentence to translate")
    sentence.fill("I love my teacher.")
    sentence.press("Enter")
    expect(page.locator(".lesson .feedback")).not_to_contain_text("Right!")
    wait_until_idle(page)
    anew = posed_on(page, FIRST)
    if anew.undecided:
        expect(page.locator(".lesson .undecided")).to_have_text(anew.undecided)
    else:
        expect(page.locator(".lesson .options button")).to_have_text([anew.fill(each.label) for each in anew.options])
    sentence.fill(posed.run.request.text)
    sentence.press("Enter")
    expect(page.locator(".lesson .feedback")).to_contain_text("Right!")


def test_an_own_sentence_stays_until_a_click_takes_another_and_comes_back_with_the_next_step(page, address):
    order = next(lesson for lesson in LESSONS if lesson.name == "order")
    at = next(number for number, step in enumerate(order.steps, start=1) if step.answer == "copies_apart")
    begin(page, address, order)
    own = "My father drinks tea every day."
    sentence = page.get_by_role("textbox", name="Sentence to translate")
    sentence.fill(own)
    sentence.press("Enter")
    for number in range(2, at + 1):
        wait_until_idle(page)
        page.locator(".lesson .next").click()
        expect(page.locator(".lesson .place")).to_have_text(f"{number} of {len(order.steps)}")
    expect(page.locator(".lesson .undecided")).to_have_text("No word occurs twice in this sentence.")
    expect(sentence).to_have_value(own)
    wait_until_idle(page)
    page.get_by_role("button", name="Take a sentence that decides it").click()
    expect(page.locator(".lesson .options button").first).to_be_visible()
    expect(page).to_have_url(re.compile(f"lesson=order.{at}(&|$)"))
    wait_until_idle(page)
    page.locator(".lesson .next").click()
    expect(page.locator(".lesson .place")).to_have_text(f"{at + 1} of {len(order.steps)}")
    page.wait_for_url("**text=My+father**")


def test_keys_go_from_step_to_step_and_back_restores_page_and_step(page, address):
    begin(page, address)
    count = len(FIRST.steps)
    before = page.url
    page.keyboard.press("PageDown")
    expect(page.locator(".lesson .place")).to_have_text(f"2 of {count}")
    wait_until_idle(page)
    page.locator(".lesson .next").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".lesson .place")).to_have_text(f"1 of {count}")
    wait_until_idle(page)
    assert urlparse(page.url).path == urlparse(before).path
    go_back(page)
    expect(page.locator(".lesson .place")).to_have_text(f"2 of {count}")
    go_back(page)
    expect(page.locator(".lesson .place")).to_have_text(f"1 of {count}")
    go_back(page)
    expect(page.get_by_role("heading", name="Lessons", exact=True)).to_be_visible()
    expect(page.locator(".lesson:visible")).to_have_count(0)


def test_one_may_leave_the_way_come_back_and_leave_the_lesson(page, address):
    begin(page, address)
    path = urlparse(page.url).path
    expect(page.get_by_test_id("stSidebarNav")).not_to_be_visible()
    page.locator(".lesson .pages").click()
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Inside").click()
    expect(page.get_by_role("heading", name="Inside", exact=True)).to_be_visible()
    wait_until_idle(page)
    page.locator(".lesson .back_to").click()
    page.wait_for_url(f"**{path}?**")
    expect(page.locator(".lesson .place")).to_have_text(f"1 of {len(FIRST.steps)}")
    expect(page.locator(".lesson .back_to")).to_be_hidden()
    wait_until_idle(page)
    page.locator(".lesson .leave").click()
    expect(page.locator(".lesson")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("lesson="))
    expect(page.get_by_test_id("stSidebarNav")).to_be_visible()


def test_on_a_phone_it_is_a_sheet_that_folds(visitor, address):
    page = visitor("phone", **PHONE, has_touch=True)
    begin(page, address)
    to_step(page, FIRST, Kind.ONE)
    sheet = page.locator(".lesson").bounding_box()
    assert sheet["y"] + sheet["height"] <= 845 and sheet["height"] <= 0.47 * 844
    for button in page.locator(".lesson .options button").all():
        assert button.bounding_box()["height"] >= 44
    expect_accessible(page)
    page.locator(".lesson .fold").tap()
    expect(page.locator(".lesson .options")).to_be_hidden()
    assert page.locator(".lesson").bounding_box()["height"] <= 60
    page.locator(".lesson .fold").tap()
    expect(page.locator(".lesson .options")).to_be_visible()


def test_presented_it_lies_below_the_figure(page, address):
    begin(page, address)
    page.goto(page.url + "&present=1")
    expect(page.locator(".lesson.docked .next")).to_be_visible()
    wait_until_idle(page)
    box = page.locator(".lesson").bounding_box()
    assert box["x"] < 10 and box["y"] + box["height"] >= 767 and box["height"] < 260
    expect_accessible(page)
    page.keyboard.press("PageDown")
    expect(page.locator(".lesson .place")).to_have_text(f"2 of {len(FIRST.steps)}")


def test_a_hostile_memory_and_address_lose_nothing(page, address):
    begin(page, address)
    hostile = {"attention.1 x": None, "y": {"choice": {"a": [1]}, "hints": "many", "shown": 3}, "z": [1], "k" * 900: {}}
    page.evaluate("value => localStorage.setItem('headlight-lessons', JSON.stringify(value))", hostile)
    for lesson in ("attention.99", "attention.0", "nothing.1", "<b>.1", "attention.1.1", "attention"):
        page.goto(f"{address}/?map=1&lesson={lesson}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        wait_until_idle(page)
        expect(page.get_by_test_id("stException")).to_have_count(0)
    page.evaluate("() => localStorage.setItem('headlight-lessons', 'no JSON')")
    page.goto(f"{address}/?map=1&lesson=attention.1")
    expect(page.locator(".lesson .next")).to_be_visible()


@pytest.mark.parametrize(("lessons", "hand"), WALKS.values(), ids=WALKS)
def test_lessons_are_gone_through_to_their_end(visitor, address, lessons, hand):
    """Each question is answered rightly, every other one wrongly first, each figure is there, and one leads on."""
    page = visitor("walk", **(PHONE | {"has_touch": True} if hand is Thumb else {}))
    press = hand(page)
    page.goto(f"{address}/lessons")
    press(page.locator(f".st-key-begin_{lessons[0].name} button").filter(visible=True))
    for lesson in lessons:
        for number, step in enumerate(lesson.steps, start=1):
            at_step(page, number, lesson)
            press.expect_focus()
            assert urlparse(page.url).path.strip("/") == ("" if step.page == "home" else step.page)
            posed = posed_on(page, lesson)
            assert not posed.undecided, posed.undecided
            if step.is_question:
                answer_it(page, posed, press, wrong_first=number % 2 == 1)
                press.expect_focus()
            elif step.note:
                observe(page, posed)
            expect(page.get_by_test_id("stException")).to_have_count(0)
            press.go_on()
        expect(page.locator(".lesson .say")).to_have_text(f"Done! {lesson.goal}")
        expect(page.locator(".lesson .feedback")).to_contain_text("right")
        wait_until_idle(page)
        press.expect_focus()
        assert LESSONS[-1] != lesson or page.locator(".lesson .onward").is_hidden()
        press(page.locator(f".lesson .{'all' if lesson == lessons[-1] else 'onward'}"))
    expect(page.get_by_role("heading", name="Lessons", exact=True)).to_be_visible()
    expect(page.locator(".lesson:visible")).to_have_count(0)


def at_step(page: Page, number: int, lesson: Lesson) -> None:
    expect(page.locator(".lesson .place")).to_have_text(f"{number} of {len(lesson.steps)}")
    expect(page.locator(".lesson .title")).to_have_text(lesson.title)
    arrived(page)


def arrived(page: Page) -> None:
    wait_until_idle(page)
    expect(page.locator(".lesson")).to_have_attribute("aria-busy", "false")


def observe(page: Page, posed: Posed) -> None:
    page.get_by_role("textbox", name="Your observation").fill("seen")
    sample = page.locator(".lesson .sample p")
    expect(sample).to_be_hidden()
    page.get_by_text("Compare with an answer").click()
    expect(sample).to_have_text("".join(text for _, text in posed.text(posed.step.sample)))


def answer_it(page: Page, posed: Posed, press: Mouse, *, wrong_first: bool) -> None:
    """Answer, and of something to be done let it be shown: its own tests do it."""
    answer, feedback = posed.answer, page.locator(".lesson .feedback")
    if answer.kind == Kind.DO:
        press(page.locator(".lesson .show"))
        expect(feedback).not_to_have_text("")
        arrived(page)
        return
    if answer.kind == Kind.NUMBER:
        if wrong_first:
            enter(page, answer.value + 2 * answer.margin, press)
            expect(feedback).to_contain_text("That is too high. Try again")
            arrived(page)
        enter(page, answer.value, press)
    else:
        if wrong_first and answer.kind == Kind.ONE:
            press(option(page, posed, right=False))
            expect(feedback).to_contain_text("Not yet. You said")
            press.expect_focus()
        for index, each in enumerate(posed.options):
            if each.name in answer.right:
                press(page.locator(".lesson .options button").nth(index))
        if answer.kind == Kind.SEVERAL:
            press(page.locator(".lesson .check"))
    expect(feedback).to_contain_text("Right!")
    expect(feedback).to_contain_text(posed.fill(answer.truth))


def enter(page: Page, value: float, press: Mouse) -> None:
    page.get_by_label("Your number").fill(f"{value:.6g}")
    press(page.locator(".lesson form button"))
