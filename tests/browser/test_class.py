"""A class in Chromium: a teacher before a projector and three phones, and what phones do with a bad network."""

import json
import re
from collections.abc import Callable, Iterator
from urllib.parse import urlencode

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect
from support.browser import expect_accessible, wait_until_idle
from support.chromium import new_visitor

from headlight.classroom import PER_FORM, Classroom, Kind, Question, Quiz, Teacher, Truth, open_class
from headlight.classroom.sqlite_store import SqliteStore
from headlight.lessons.file import read_lessons
from headlight.lessons.gain import quiz_result, read_answers
from headlight.lessons.quiz_bank import bank, fill

FIRST = read_lessons()[0][0]
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
DESK = {"viewport": {"width": 1366, "height": 768}, "reduced_motion": "reduce"}
WORDS = ("It stays the same.", "Its translation is missing", "Other words change", "It stops early")
HOSTILE = "<img src=x onerror=\"document.title='taken'\"><b>=1+1</b>&lt;"
QUESTION = Question(f"{HOSTILE} is hidden from all heads of the cross-attention. What happens?", WORDS)
TRUTH = Truth("It is missing.", right=(1,), feedback=("No.", "Yes.", HOSTILE, "It goes on."), link="inside")
TEXTS = bank()["texts"] | bank()["phone"]  # of the quiz
OTHER_REQUEST = "fetch('/_stcore/health').then((response) => response.text())"


@pytest.fixture
def browsers(browser) -> Iterator[Callable[..., BrowserContext]]:
    """New browsers with empty storage; no script may fail in them."""
    opened, errors = [], []

    def new(**options: object) -> BrowserContext:
        context = new_visitor(browser, **options)
        context.on("weberror", lambda error: errors.append(str(error.error)))
        opened.append(context)
        return context

    yield new
    for context in opened:
        context.close()
    assert not errors


@pytest.fixture
def teacher(store) -> Teacher:
    """A class that is led by the store alone."""
    return open_class(store)


@pytest.fixture
def phone(browsers, school, teacher) -> Page:
    """A student's phone in that class."""
    return join(browsers(**PHONE), school, teacher.code)


def join(context: BrowserContext, school: str, code: str) -> Page:
    page = context.new_page()
    page.goto(f"{school}/c/{code}")
    expect(page.locator("#status")).not_to_be_empty()
    return page


def option(page: Page, number: int):
    return page.locator("#options button").nth(number)


def expect_sent(page: Page, number: int) -> None:
    """Expect the phone to have an option acknowledged."""
    expect(page.locator("#status")).to_contain_text("Sent:")
    expect(option(page, number)).to_have_attribute("aria-pressed", "true")


def choose(page: Page, number: int) -> None:
    expect(page.locator("#status")).to_have_text("Tap your answer.")
    option(page, number).tap()
    expect_sent(page, number)


def check_schemes(page: Page) -> None:
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        expect_accessible(page)


def open_desk(context: BrowserContext, school: str, text: str = "") -> tuple[Page, str]:
    """Open a class for the first lesson, with a sentence of one's own; return the teacher's page and the code."""
    page = context.new_page()
    page.goto(f"{school}/lessons?{urlencode({'lessons': 'a class'} | ({'text': text} if text else {}))}")
    page.get_by_test_id("stButton").get_by_role("button", name="Teach this lesson").click()
    expect(page.locator(".desk dialog.door")).to_be_visible()
    wait_until_idle(page)
    return page, page.locator(".desk .door .code").inner_text()


def act(page: Page, key: str, then: str) -> None:
    """Press a key of the teacher's; `then` is the act that is offered after it."""
    expect(page.locator(".desk")).to_have_attribute("aria-busy", "false")
    page.keyboard.press(key)
    expect(page.locator(f".desk .acts [data-act={then}]")).to_be_visible()


def bars(page: Page) -> list[list[str]]:
    """Return the counts of each option, for each round."""
    return [item.locator(".bar b").all_inner_texts() for item in page.locator(".desk .bars li").all()]


def stored(store: SqliteStore, code: str) -> Classroom:
    classroom = store.read(code)
    assert classroom is not None
    return classroom


def test_a_class_of_three_goes_from_the_code_to_the_table(browsers, school, store):
    page, code = open_desk(browsers(**DESK, accept_downloads=True), school)
    expect_accessible(page)
    phones = [join(browsers(**PHONE), school, code) for _ in range(2)]
    expect(page.locator(".desk .door .here")).to_have_text("2 here")
    page.keyboard.press("q")
    act(page, "a", "close")
    current = stored(store, code).current
    [right] = current.truth.right
    wrong = next(at for at in range(len(current.question.options)) if at != right)
    expect(page.locator(".desk .ask")).to_have_text(current.question.text)
    assert page.locator(".desk .options .label").all_inner_texts() == list(current.question.options)
    for phone, number in zip(phones, (wrong, right), strict=True):
        expect(phone.locator("#about")).to_have_text(current.question.about)
        choose(phone, number)
    count = page.locator(".desk .count")
    expect(count).to_have_text("2 of 2 answered")
    assert bars(page) == [] and not page.locator(".desk .right").count(), "nobody follows the crowd"

    phones.append(join(browsers(**PHONE), school, code))
    expect(count).to_have_text("2 of 3 answered")
    choose(phones[2], right)
    phones[0].reload()
    expect_sent(phones[0], wrong)
    page.reload()
    expect(count).to_have_text("3 of 3 answered")
    act(page, "c", "bars")
    act(page, "h", "again")
    first = [["0"] for _ in current.question.options]
    first[wrong], first[right] = ["1"], ["2"]
    expect(page.locator(".desk .bars li")).to_have_count(len(first))
    assert bars(page) == first and not page.locator(".desk .right").count()
    expect_accessible(page)

    act(page, "a", "close")  # again, after a discussion
    for phone in phones:
        choose(phone, right)
    expect(count).to_have_text("3 of 3 answered")
    act(page, "c", "bars")
    act(page, "h", "reveal")
    expect(page.locator(".desk .bars .bar")).to_have_count(2 * len(first))
    assert bars(page) == [[*each, "3" if at == right else "0"] for at, each in enumerate(first)]
    act(page, "r", "next")
    expect(page.locator(".desk .right .label")).to_have_text(current.question.options[right])
    wait_until_idle(page)
    expect(page.locator(".token_lines .chance").first).to_have_css("font-size", "20px")
    for part in (".st-key-home_below", ".token_lines .readout", ".token_lines .under"):
        expect(page.locator(part)).to_be_hidden()
    for phone in phones:
        expect(phone.locator("#status")).to_contain_text(current.truth.sentence)

    act(page, "n", "ask")
    page.locator(".desk .more_button").click()
    page.locator(".desk .more [data-act=summary]").click()
    expect(page.locator(".st-key-class_rounds tbody tr")).to_have_count(2)
    wait_until_idle(page)
    with page.expect_download() as saving:
        page.get_by_text("Answers as CSV").click()
    assert len(saving.value.path().read_text(encoding="utf-8").splitlines()) == 1 + 2 * 3
    page.get_by_text("End the class").click()
    page.get_by_role("button", name="Delete it now").click()
    expect(phones[0].get_by_role("alert")).to_have_text("This class is over.")


def test_a_teachers_rights_are_in_the_browser_and_the_teacher_link_alone(browsers, school, store):
    page, code = open_desk(browsers(**DESK, permissions=["clipboard-read", "clipboard-write"]), school)
    page.keyboard.press("q")
    page.locator(".desk .more_button").click()
    page.locator(".desk .more [data-act=link]").click()
    expect(page.locator(".desk .more [data-act=link]")).to_contain_text("Copied")
    link = page.evaluate("navigator.clipboard.readText()")
    secret = link.partition("#teach=")[2]
    assert secret not in page.url and secret not in page.content()

    other = browsers(**DESK).new_page()
    other.goto(page.url)
    expect(other.locator(".desk .whose")).to_be_visible()
    expect(other.locator(".desk .strip")).to_be_hidden()
    expect_accessible(other)
    for written, outcome in ((f"{link[:-1]}x", ".desk .refused:not(:empty)"), (link, ".desk .count")):
        other.get_by_label("Your teacher link").fill(written)
        other.get_by_role("button", name="Go on").click()
        expect(other.locator(outcome)).to_be_visible()
    third = browsers(**DESK).new_page()
    third.goto(link)
    expect(third.locator(".desk .count")).to_be_visible()
    assert secret not in third.url


def test_a_teacher_asks_a_question_of_their_own(browsers, school, store):
    page, code = open_desk(browsers(**DESK), school, "The weather was nice yesterday.")
    page.keyboard.press("Escape")
    expect(page.locator(".desk dialog.door")).to_be_hidden()
    phone = join(browsers(**PHONE), school, code)
    page.locator(".desk .more_button").click()
    page.locator(".desk .more [data-act=own]").click()
    dialog = page.locator(".desk dialog.own")
    dialog.get_by_role("button", name="Ask the class").click()
    expect(dialog.get_by_role("alert")).not_to_be_empty()
    dialog.get_by_role("button", name="One of the tokens").click()
    dialog.get_by_label("Question", exact=True).fill("<b>Which</b> token, q or a?")  # no letter is a key of the class
    expect_accessible(page)
    dialog.get_by_role("button", name="Ask the class").click()
    expect(page.locator(".desk .ask")).to_have_text("<b>Which</b> token, q or a?")
    options = stored(store, code).current.question.options
    assert page.locator(".desk .options .label").all_inner_texts() == list(options)
    choose(phone, 3)
    page.keyboard.press("e")
    field = page.get_by_role("textbox", name="Sentence to translate")
    expect(field).to_be_focused()
    field.fill("Tom can swim.")
    field.press("Enter")
    expect(page).to_have_url(re.compile("Tom"))
    assert stored(store, code).current.question.options == options, "frozen"


def test_a_student_goes_from_the_code_to_the_result_by_keyboard(browsers, school, teacher):
    page = browsers(**PHONE).new_page()
    page.goto(f"{school}/c")
    check_schemes(page)
    for code in ("abc", "22222", f"{teacher.code[:2]} {teacher.code[2:].lower()}"):
        page.get_by_label("Class code").fill(code)
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert") if len(code) < 6 else page.locator("#status")).not_to_be_empty()
    assert page.url == f"{school}/c/{teacher.code}?ui=en" and teacher.look().here == 1
    teacher.ask(QUESTION, TRUTH)
    expect(page.get_by_role("heading")).to_have_text(QUESTION.text)
    assert page.locator("#options button").all_inner_texts() == list(WORDS)
    assert all(button.bounding_box()["height"] >= 56 for button in page.locator("#options button").all())
    for key in ("Tab", "Tab", "Space"):
        page.keyboard.press(key)
    expect_sent(page, 1)
    option(page, 2).tap()
    expect_sent(page, 2)
    with page.expect_response("**/state?*"):
        pass
    expect(option(page, 2)).to_be_focused()
    assert teacher.look().tally.counts == (0, 0, 1, 0)
    teacher.reveal()
    expect(page.locator("#status")).to_have_text(HOSTILE)
    assert not page.locator("main img, main b:has-text('=1+1')").count() and page.title() == "Class · Headlight"
    widths = [row.locator("i").bounding_box()["width"] for row in page.locator("#result li").all()]
    assert widths[0] == widths[1] == widths[3] == 0 and widths[2] > 300
    check_schemes(page)

    teacher.ask(Question("Which?", ("the", "red", "dog"), Kind.SEVERAL), Truth("All but dog.", (0, 1)))
    expect(page.locator("#options button")).to_have_count(3)
    for number in (2, 0, 1, 2):
        option(page, number).tap()
    expect(page.locator("#status")).to_contain_text("the, red")
    teacher.ask(Question("Divided by what?", kind=Kind.NUMBER), Truth("By 2.83.", value=2.83, margin=0.05))
    field = page.get_by_label("Your number")
    for typed, sent in (("2,8", "2.8"), ("−1e3", "-1000"), ("many", "-1000")):
        field.fill(typed)
        field.press("Enter")
        expect(page.locator("#status")).to_contain_text(f"Sent: {sent}")
    expect_accessible(page)


def test_a_reload_and_half_a_memory_are_the_same_student_and_no_memory_is_another(phone, school, teacher):
    context = phone.context
    phone.evaluate("localStorage['headlight-class-22222'] = '0123456789abcdef 1000'")  # a class of another day
    teacher.ask(QUESTION, TRUTH)
    choose(phone, 1)
    phone.reload()
    expect_sent(phone, 1)
    assert phone.evaluate("Object.keys(localStorage)") == [f"headlight-class-{teacher.code}"]
    (cookie,) = (each for each in context.cookies() if each["name"] == "participant")
    assert cookie["path"] == f"/c/{teacher.code}" and cookie["sameSite"] == "Strict"
    for forget in (context.clear_cookies, lambda: phone.evaluate("localStorage.clear()")):
        forget()
        tab = join(context, school, teacher.code)
        expect_sent(tab, 1)
        tab.close()
    assert teacher.look().tally.counts == (0, 1, 0, 0) and teacher.look().here == 1
    context.clear_cookies()
    phone.evaluate("localStorage.clear()")
    phone.reload()
    choose(phone, 0)
    assert teacher.look().tally.counts == (1, 1, 0, 0) and teacher.look().here == 2


def test_an_answer_is_sent_until_it_is_acknowledged_and_a_late_one_does_not_count(phone, teacher):
    teacher.ask(QUESTION, TRUTH)
    expect(phone.locator("#status")).to_have_text("Tap your answer.")
    lost = []

    def lose(route: Route) -> None:
        if len(lost) < 2:
            lost.append(route.fetch().status)  # the answer arrives, and its acknowledgement does not
            route.abort()
        else:
            route.continue_()

    phone.route("**/answer", lose)
    option(phone, 2).tap()
    expect_sent(phone, 2)
    assert lost == [200, 200] and teacher.look().tally.counts == (0, 0, 1, 0)
    phone.unroute("**/answer")
    phone.context.set_offline(True)
    option(phone, 1).tap()
    expect(phone.locator("#net")).not_to_be_empty()
    expect_accessible(phone)
    phone.context.set_offline(False)
    expect_sent(phone, 1)
    expect(phone.locator("#net")).to_be_empty()

    def close_first(route: Route) -> None:
        teacher.close_round()
        route.continue_()

    phone.route("**/answer", close_first)
    option(phone, 3).tap()
    expect(phone.locator("#status")).to_contain_text("came too late")
    assert teacher.look().tally.counts == (0, 1, 0, 0)


def test_a_phone_polls_every_two_seconds_every_ten_while_hidden_and_once_when_it_wakes(browsers, school, teacher):
    page, polls = browsers(**PHONE).new_page(), []

    def count(route: Route) -> None:
        polls.append(route.request.url)
        route.fulfill(status=204)

    page.clock.install()
    page.goto(f"{school}/c/{teacher.code}")
    expect(page.locator("#status")).not_to_be_empty()
    page.route("**/state?*", count)
    page.clock.pause_at(page.evaluate("Date.now()") / 1000 + 60)  # from here on the test alone moves the clock
    page.evaluate(OTHER_REQUEST)

    def polls_in(seconds: int) -> int:
        before = len(polls)
        for _ in range(2 * seconds):
            page.clock.run_for(500)
            page.evaluate(OTHER_REQUEST)  # later than any answer
        return len(polls) - before

    def hide(hidden: bool) -> None:
        page.evaluate(
            "(value) => { Object.defineProperty(document, 'hidden', { value, configurable: true }); \
            document.dispatchEvent(new Event('visibilitychange')); }",
            hidden,
        )

    assert 7 <= polls_in(20) <= 14
    hide(True)
    polls_in(10)
    assert 2 <= polls_in(40) <= 6
    before = len(polls)
    hide(False)
    page.evaluate(OTHER_REQUEST)
    assert len(polls) == before + 1


def ask_quiz(page: Page, when: str) -> None:
    expect(page.locator(".desk")).to_have_attribute("aria-busy", "false")
    page.locator(".desk .more_button").click()
    page.locator(".desk .more").get_by_role("button", name=TEXTS[when]).click()
    expect(page.locator(".desk .ask")).to_have_text(TEXTS[f"wall_{when}"])


def answer_item(phone: Page, quiz: Quiz, number: int, off: int) -> None:
    """Answer the item that a phone shows, `off` options from the right one."""
    expect(phone.locator("#about")).to_have_text(fill(TEXTS["place"], number=number, of=PER_FORM))
    rights, buttons = {item.text: item.right for item in quiz.items}, phone.locator("#options button")
    buttons.nth((rights[phone.locator("#text").inner_text()] + off) % buttons.count()).tap()


def test_a_class_of_two_goes_from_the_quiz_before_to_the_gain(browsers, school, store):
    page, code = open_desk(browsers(**DESK, accept_downloads=True), school)
    first, second = phones = [join(browsers(**PHONE), school, code) for _ in range(2)]
    count, responses = page.locator(".desk .count"), []
    second.on("response", lambda response: response.status == 200 and responses.append(response.text()))
    page.keyboard.press("q")
    for when, off in (("before", 1), ("after", 0)):
        ask_quiz(page, when)
        quiz = stored(store, code).current.quiz
        expect(count).to_have_text(fill(TEXTS["count"], done=0, here=2))
        for number in range(1, 4):
            answer_item(first, quiz, number, off)
        first.get_by_role("button", name=TEXTS["back"]).tap()
        answer_item(first, quiz, 3, off)
        expect(first.locator("#status")).to_have_text(TEXTS["tap"])  # all are acknowledged
        expect_accessible(first)
        first.reload()
        for number in range(4, 7):
            answer_item(first, quiz, number, off)
        expect(count).to_have_text(fill(TEXTS["count"], done=1, here=2))
        for number in range(1, 7):
            answer_item(second, quiz, number, 0)
        expect(count).to_have_text(fill(TEXTS["count"], done=2, here=2))
        for phone in phones:
            expect(phone.locator("#status")).to_have_text(TEXTS["done"])
        acts = page.locator(".desk .acts [data-act]").all()
        assert len(acts) == 1 and not page.locator(".desk .options li").count(), "nobody's answers"
        page.keyboard.press("c")
        for phone in phones:
            expect(phone.locator("#status")).to_have_text("You are in. Look at the wall.")
    for body in map(json.loads, responses):
        assert not {"right", "counts", "near", "said"} & body.keys()
        assert all(item.keys() == {"text", "options"} for item in body.get("items", ()))
    page.locator(".desk .more_button").click()
    page.locator(".desk .more [data-act=summary]").click()
    expect(page.get_by_text("2 students finished both quizzes")).to_be_visible()
    expect(page.locator(".st-key-class_quiz .bars path").first).to_be_visible()
    wait_until_idle(page)
    with page.expect_download() as saving:
        page.get_by_text("Answers as CSV").click()
    table = saving.value.path().read_bytes()
    assert len(table.splitlines()) == 1 + 2 * 2 * PER_FORM
    result = quiz_result(read_answers([table]))
    assert (result.students, result.total.before, result.total.after) == (2, 0.5, 1.0)
