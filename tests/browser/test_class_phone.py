"""A student's phone in a class, from the code to the result, before a real Chromium; the teacher acts by the store."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, Response, Route, expect
from support.browser import expect_accessible
from support.chromium import new_visitor
from support.server import until

from headlight.classroom import Kind, Question, Teacher, Truth, open_class

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
WORDS = ("It stays the same.", "Its translation is missing", "Other words change", "It stops early")
QUESTION = Question("“not” is hidden from all heads of the cross-attention. What happens?", WORDS)
TRIED = "inside?inside=masks"
TRUTH = Truth("It is missing.", right=(1,), feedback=("No.", "Yes.", "Others stay.", "It goes on."), link=TRIED)
OTHER_REQUEST = "fetch('/_stcore/health').then((response) => response.text())"
HOSTILE = "<img src=x onerror=\"document.title='taken'\"><b>=1+1</b>&lt;"


@pytest.fixture
def teacher(store) -> Teacher:
    return open_class(store)


@pytest.fixture
def phones(browser) -> Iterator[Callable[..., BrowserContext]]:
    """New phones, each with an empty memory; no script may fail before any of them."""
    opened, errors = [], []

    def new(**options: str) -> BrowserContext:
        context = new_visitor(browser, **PHONE | options)
        context.on("weberror", lambda error: errors.append(str(error.error)))
        opened.append(context)
        return context

    yield new
    for context in opened:
        context.close()
    assert not errors


def enter(context: BrowserContext, school: str, teacher: Teacher) -> Page:
    page = context.new_page()
    page.goto(f"{school}/c/{teacher.code}")
    return page


def status(page: Page, words: str) -> None:
    expect(page.locator("#status")).to_have_text(words)


def option(page: Page, number: int):
    return page.locator("#options button").nth(number)


def shuts_no_one_out_by_night_either(page: Page) -> None:
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        expect_accessible(page)


def test_a_student_goes_from_the_code_to_the_result(phones, school, teacher):
    page = phones().new_page()
    sizes: list[int] = []

    def note(response: Response) -> None:
        if response.ok:
            sizes.append(len(response.body()))

    page.on("response", note)
    page.goto(f"{school}/c")
    shuts_no_one_out_by_night_either(page)
    for typed, told in (("abc", "A code has five letters"), ("22222", "There is no class 22222")):
        page.get_by_label("Code of the class").fill(typed)
        page.get_by_role("button", name="Join").tap()
        expect(page.get_by_role("alert")).to_contain_text(told)
    shuts_no_one_out_by_night_either(page)
    page.get_by_label("Code of the class").fill(f"{teacher.code[:2]} {teacher.code[2:].lower()}")
    page.get_by_role("button", name="Join").tap()
    status(page, "You are in. Look at the wall.")
    assert page.url == f"{school}/c/{teacher.code}" and teacher.look().here == 1
    shuts_no_one_out_by_night_either(page)

    teacher.ask(QUESTION, TRUTH)
    expect(page.get_by_role("heading")).to_have_text(QUESTION.text)
    status(page, "Tap your answer.")
    assert page.locator("#options button").all_inner_texts() == list(WORDS)
    assert all(button.bounding_box()["height"] >= 56 for button in page.locator("#options button").all())
    shuts_no_one_out_by_night_either(page)
    option(page, 0).tap()
    status(page, "Sent: It stays the same. Tap another to change it until it is closed.")
    option(page, 2).tap()
    status(page, "Sent: Other words change. Tap another to change it until it is closed.")
    assert [button.get_attribute("aria-pressed") for button in page.locator("#options button").all()] == [
        *("false", "false", "true", "false")
    ]
    assert teacher.look().tally.counts == (0, 0, 1, 0)
    shuts_no_one_out_by_night_either(page)

    teacher.close_round()
    status(page, "Closed. You said: Other words change. Look at the wall.")
    assert all(button.is_disabled() for button in page.locator("#options button").all())
    shuts_no_one_out_by_night_either(page)
    teacher.reveal()
    status(page, "Others stay.")
    rows = page.locator("#result li")
    assert rows.all_inner_texts() == [
        *(f"0 of 1\n{WORDS[0]}", f"0 of 1\n{WORDS[1]}\n✓ right", f"1 of 1\n{WORDS[2]}\nyour answer"),
        f"0 of 1\n{WORDS[3]}",
    ]
    bars = [row.locator("i").bounding_box()["width"] for row in rows.all()]
    assert bars[0] == bars[1] == bars[3] == 0 and bars[2] > 300
    expect(page.locator("#options")).to_be_hidden()
    shuts_no_one_out_by_night_either(page)
    page.remove_listener("response", note)  # what comes from here on is the app's, and may be broken off
    assert len(sizes) > 5 and max(sizes) < 12_000 and sorted(sizes)[-4] < 500, "pages, and states"
    page.get_by_role("link", name="Try it yourself").tap()
    page.wait_for_url(f"{school}/{TRIED}")
    expect(page.locator(".st-key-leaking")).to_be_visible()


def test_several_options_and_numbers_are_answered(phones, school, teacher):
    page = enter(phones(), school, teacher)
    teacher.ask(Question("Which can be hidden?", ("the", "red", "dog"), Kind.SEVERAL), Truth("All but dog.", (0, 1)))
    status(page, "Tap all that are right.")
    for number in (2, 0, 1, 2):
        option(page, number).tap()
    status(page, "Sent: the, red. Tap to change it until it is closed.")
    teacher.reveal()
    status(page, "All but dog.")
    assert [text.count("✓ right · your answer") for text in page.locator("#result li").all_inner_texts()] == [1, 1, 0]

    teacher.ask(Question("Divided by what?", kind=Kind.NUMBER), Truth("By 2.83.", value=2.83, margin=0.05))
    field = page.get_by_label("Your number")
    expect(field).to_be_visible()
    expect_accessible(page)
    for typed, sent in (("2,8", "2.8"), ("−1e3", "-1000")):
        field.fill(typed)
        page.get_by_role("button", name="Send").tap()
        status(page, f"Sent: {sent}. Send another to change it until it is closed.")
    field.fill("many")
    field.press("Enter")
    status(page, "Sent: -1000. Send another to change it until it is closed.")
    teacher.reveal()
    expect(page.locator("#result li")).to_have_text("0 of 1 came close enough. You said -1000.")
    expect(field).to_be_hidden()
    teacher.ask_again()
    expect(field).to_have_value("")
    expect_accessible(page)


def test_a_reload_another_tab_and_half_a_memory_are_the_same_student_and_no_memory_is_another(phones, school, teacher):
    context = phones()
    page = enter(context, school, teacher)
    teacher.ask(QUESTION, TRUTH)
    option(page, 1).tap()
    status(page, "Sent: Its translation is missing. Tap another to change it until it is closed.")
    page.reload()
    status(page, "Sent: Its translation is missing. Tap another to change it until it is closed.")
    (cookie,) = (each for each in context.cookies() if each["name"] == "participant")
    assert re.fullmatch("[0-9a-f]{16}", cookie["value"]) and cookie["path"] == f"/c/{teacher.code}"
    assert cookie["sameSite"] == "Strict"
    for forget in (context.clear_cookies, lambda: page.evaluate("localStorage.clear()")):
        forget()
        tab = enter(context, school, teacher)
        option(tab, 3).tap()
        status(tab, "Sent: It stops early. Tap another to change it until it is closed.")
        tab.close()
    assert teacher.look().tally.counts == (0, 0, 0, 1) and teacher.look().here == 1
    context.clear_cookies()
    page.evaluate("localStorage.clear()")
    page.reload()
    status(page, "Tap your answer.")
    option(page, 0).tap()
    until(lambda: page.evaluate("1") and teacher.look().tally.counts == (1, 0, 0, 1))
    assert teacher.look().here == 2


def test_numbers_of_classes_of_another_day_are_forgotten(phones, school, teacher):
    context = phones()
    page = context.new_page()
    page.goto(f"{school}/c")
    page.evaluate(
        """() => {
          localStorage["headlight-class-22222"] = "0123456789abcdef 1000";
          localStorage["headlight-class-33333"] = `0123456789abcdef ${Date.now()}`;
          localStorage["headlight-class-44444"] = "something else";
          localStorage["other"] = "kept";
        }"""
    )
    page = enter(context, school, teacher)
    status(page, "You are in. Look at the wall.")
    kept = page.evaluate("Object.keys(localStorage)")
    assert sorted(kept) == sorted(["headlight-class-33333", f"headlight-class-{teacher.code}", "other"])


def test_what_is_written_to_be_html_stays_text(phones, school, teacher):
    page = enter(phones(), school, teacher)
    teacher.ask(Question(HOSTILE, (HOSTILE, "b")), Truth(HOSTILE, right=(0,), feedback=(HOSTILE, "x")))
    expect(page.get_by_role("heading")).to_have_text(HOSTILE)
    option(page, 0).tap()
    expect(page.locator("#status")).to_contain_text(f"Sent: {HOSTILE}")
    teacher.reveal()
    status(page, HOSTILE)
    assert page.locator("#result li span").first.inner_text() == HOSTILE
    assert page.locator("main img, main b:has-text('=1+1')").count() == 0 and page.title() == "Class · Headlight"


def test_without_a_net_the_page_says_so_and_the_answer_is_repeated_until_it_is_acknowledged(phones, school, teacher):
    context = phones()
    page = enter(context, school, teacher)
    teacher.ask(QUESTION, TRUTH)
    status(page, "Tap your answer.")
    context.set_offline(True)
    option(page, 1).tap()
    expect(page.locator("#net")).to_have_text("Reconnecting …")
    status(page, "Sending … Its translation is missing.")
    assert option(page, 1).get_attribute("aria-pressed") == "true"
    expect_accessible(page)
    context.set_offline(False)
    status(page, "Sent: Its translation is missing. Tap another to change it until it is closed.")
    expect(page.locator("#net")).to_have_text("")
    assert teacher.look().tally.counts == (0, 1, 0, 0)


def test_an_acknowledgement_that_is_lost_is_asked_for_again(phones, school, teacher):
    page = enter(phones(), school, teacher)
    teacher.ask(QUESTION, TRUTH)
    lost = []

    def lose(route: Route) -> None:
        if len(lost) < 2:
            lost.append(route.fetch().status)  # it arrives, and its answer does not
            route.abort()
        else:
            route.continue_()

    page.route("**/answer", lose)
    option(page, 1).tap()
    status(page, "Sent: Its translation is missing. Tap another to change it until it is closed.")
    assert lost == [200, 200] and teacher.look().tally.answered == 1


def test_an_answer_after_the_end_is_said_to_be_late(phones, school, teacher):
    page = enter(phones(), school, teacher)
    teacher.ask(QUESTION, TRUTH)
    status(page, "Tap your answer.")

    def close_first(route: Route) -> None:
        teacher.close_round()
        route.continue_()

    page.route("**/answer", close_first)
    option(page, 1).tap()
    status(page, "Closed. It was closed before your answer came. Look at the wall.")
    assert teacher.look().tally.answered == 0
    assert [button.get_attribute("aria-pressed") for button in page.locator("#options button").all()] == ["false"] * 4
    page.unroute("**/answer")
    teacher.ask_again()
    status(page, "Tap your answer.")
    option(page, 1).tap()
    status(page, "Sent: Its translation is missing. Tap another to change it until it is closed.")
    teacher.reveal()
    status(page, "Yes.")


def test_a_question_that_follows_another_leaves_no_answer_behind(phones, school, teacher):
    page = enter(phones(), school, teacher)
    teacher.ask(QUESTION, TRUTH)
    option(page, 1).tap()
    status(page, "Sent: Its translation is missing. Tap another to change it until it is closed.")
    held: list[Route] = []
    page.route("**/answer", lambda route: held.append(route))
    option(page, 2).tap()
    until(lambda: page.evaluate("1") and held)
    teacher.ask(Question("Another?", ("yes", "no")))
    expect(page.get_by_role("heading")).to_have_text("Another?")
    status(page, "Tap your answer.")
    page.unroute("**/answer")
    option(page, 1).tap()
    status(page, "Sent: no. Tap another to change it until it is closed.")
    assert teacher.look().tally.counts == (0, 1) and teacher.tally(1).counts == (0, 1, 0, 0), (
        "nobody waits for the old one"
    )


def test_all_is_done_with_the_keyboard_and_what_has_the_focus_keeps_it(phones, school, teacher):
    page = phones().new_page()
    page.goto(f"{school}/c")
    page.keyboard.press("Tab")
    page.keyboard.type(teacher.code)
    page.keyboard.press("Enter")
    status(page, "You are in. Look at the wall.")
    teacher.ask(QUESTION, TRUTH)
    status(page, "Tap your answer.")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(option(page, 1)).to_be_focused()
    page.keyboard.press("Space")
    status(page, "Sent: Its translation is missing. Tap another to change it until it is closed.")
    expect(option(page, 1)).to_be_focused()
    with page.expect_response("**/state?*"):
        pass
    expect(option(page, 1)).to_be_focused()
    for name, role in (("status", "status"), ("net", "status"), ("error", "alert")):
        assert page.locator(f"#{name}").get_attribute("role") == role
    assert page.locator("#text").get_attribute("aria-live") == "polite"


def test_whoever_is_shut_out_or_stays_to_the_end_is_told_so_and_stops_asking(phones, school, teacher):
    inside = enter(phones(), school, teacher)
    status(inside, "You are in. Look at the wall.")
    teacher.lock()
    late = enter(phones(), school, teacher)
    expect(late.get_by_role("alert")).to_have_text("This class lets nobody in any more: please ask your teacher.")
    expect(late.get_by_label("Code of the class")).to_be_visible()
    expect_accessible(late)
    teacher.lock(False)
    late.reload()
    status(late, "You are in. Look at the wall.")
    teacher.end()
    for page in (inside, late):
        expect(page.get_by_role("alert")).to_have_text("This class is over.")
        expect(page.locator("#room")).to_be_hidden()
    asked: list[str] = []
    inside.on("request", lambda request: asked.append(request.url))
    inside.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    inside.evaluate(OTHER_REQUEST)
    until(lambda: inside.evaluate("1") and asked)
    assert asked == [f"{school}/_stcore/health"], "it would have asked before"


def test_a_phone_asks_every_two_seconds_every_ten_while_hidden_and_once_when_it_wakes(phones, school, teacher):
    page = phones().new_page()
    asked: list[str] = []

    def count(route: Route) -> None:
        asked.append(route.request.url)
        route.fulfill(status=204)

    page.clock.install()
    page.goto(f"{school}/c/{teacher.code}")
    status(page, "You are in. Look at the wall.")
    page.route("**/state?*", count)
    # From here on no time passes but what the test lets pass, however long this machine takes for it.
    page.clock.pause_at(page.evaluate("Date.now()") / 1000 + 60)
    page.evaluate(OTHER_REQUEST)

    def in_a_minute() -> int:
        before = len(asked)
        for _ in range(120):
            page.clock.run_for(500)
            page.evaluate(OTHER_REQUEST)  # later than any answer
        return len(asked) - before

    assert 22 <= in_a_minute() <= 42
    hide = "(hidden) => { Object.defineProperty(document, 'hidden', { value: hidden, configurable: true }); \
        document.dispatchEvent(new Event('visibilitychange')); }"
    page.evaluate(hide, True)
    in_a_minute()
    assert 4 <= in_a_minute() <= 9
    before = len(asked)
    page.evaluate(hide, False)
    page.evaluate(OTHER_REQUEST)
    assert len(asked) == before + 1
    page.clock.run_for(1400)
    assert len(asked) == before + 1, "and not again at once"


def test_a_phone_waits_until_it_is_admitted_and_leaves_when_it_is_removed(phones, school, teacher):
    page = phones().new_page()
    page.route("**/state*", lambda route: route.fulfill(status=429, json={"error": "Many are joining: please wait."}))
    page.goto(f"{school}/c/{teacher.code}")
    expect(page.get_by_role("alert")).to_have_text("Many are joining: please wait.")
    page.unroute("**/state*")
    status(page, "You are in. Look at the wall.")
    expect(page.locator("#error")).to_be_empty()
    (sign,) = teacher.look().signs
    expect(page.locator("#me")).to_have_text(f"· you are {sign}")
    shuts_no_one_out_by_night_either(page)
    teacher.remove(sign)
    expect(page.get_by_role("alert")).to_have_text("Your teacher has removed you from this class.")
    expect(page.locator("#room")).to_be_hidden()
