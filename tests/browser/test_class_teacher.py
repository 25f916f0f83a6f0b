"""A class in Chromium: a teacher before a projector and her students' phones, from the code to the end."""

import csv
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlparse

import pytest
from playwright.sync_api import BrowserContext, Page, expect
from support.browser import expect_accessible, wait_until_idle
from support.chromium import new_visitor
from support.server import until

from headlight.classroom import Classroom, Phase
from headlight.classroom.sqlite_store import SqliteStore
from headlight.lessons.file import read_lessons

FIRST = read_lessons()[0][0]
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
OWN, UNDECIDED = "The children are playing football in the park.", "The weather was nice yesterday."
PROJECTORS = [("light", 1366, 768), ("dark", 1920, 1080)]
LEAST = {".ask": 48, ".options li": 36, ".about": 36, ".count": 36, ".corner span": 36}  # pixels, of 1366 x 768


@pytest.fixture
def browsers(browser) -> Iterator[Callable[..., BrowserContext]]:
    """New browsers with nothing in their memory; no script may fail before any of them."""
    opened, errors = [], []

    def new(**options: object) -> BrowserContext:
        context = new_visitor(browser, **{"reduced_motion": "reduce"} | options)
        context.on("weberror", lambda error: errors.append(str(error.error)))
        opened.append(context)
        return context

    yield new
    for context in opened:
        context.close()
    assert not errors


def open_class(context: BrowserContext, school: str, own: str = "") -> tuple[Page, str]:
    """Open a class for the first lesson; returns the teacher's page, its door open, and the code on it.

    own: the teacher's sentence.
    """
    page = context.new_page()
    page.goto(f"{school}/lessons?{urlencode({'lessons': 'a class'} | ({'text': own} if own else {}))}")
    page.get_by_test_id("stButton").get_by_role("button", name="Teach this lesson").click()
    expect(page.locator(".desk dialog.door")).to_be_visible()
    wait_until_idle(page)
    return page, page.locator(".desk .door .code").inner_text()


def join(context: BrowserContext, school: str, code: str) -> Page:
    phone = context.new_page()
    phone.goto(f"{school}/c/{code}")
    expect(phone.locator("#status")).not_to_be_empty()
    return phone


def choose(phone: Page, option: int) -> None:
    expect(phone.locator("#status")).to_have_text("Tap your answer.")
    phone.locator("#options button").nth(option).tap()
    expect(phone.locator("#status")).to_contain_text("Sent:")


def do(page: Page, key: str, then: str) -> None:
    """Press a key of the teacher's; `then` is the act that is offered after it."""
    expect(page.locator(".desk")).to_have_attribute("aria-busy", "false")  # what she did last is done
    page.keyboard.press(key)
    expect(page.locator(f".desk .acts [data-act={then}]")).to_be_visible()


def counted(page: Page, words: str) -> None:
    expect(page.locator(".desk .count")).to_have_text(words)


def bars(page: Page) -> list[list[str]]:
    """The counts on the screen, for each option those of each round."""
    return [item.locator(".bar b").all_inner_texts() for item in page.locator(".desk .bars li").all()]


def sizes(page: Page) -> dict[str, float]:
    """Return the font sizes of what the wall shows, in pixels of the screen."""
    measure = "(found) => parseFloat(getComputedStyle(found).fontSize) * found.currentCSSZoom"
    return {name: page.locator(f".desk {name}").first.evaluate(measure) for name in LEAST}


def fills_the_screen(page: Page, width: int, height: int) -> None:
    """The wall covers all, its type grows with the screen, and nothing has to be scrolled to."""
    assert page.locator(".desk").bounding_box() == {"x": 0, "y": 0, "width": width, "height": height}
    grown = min(width / 1366, height / 768)
    assert {name: size for name, size in sizes(page).items() if size < LEAST[name] * grown} == {}
    assert page.locator(".desk .words").evaluate("(words) => words.scrollHeight <= words.clientHeight")
    assert page.evaluate(
        "document.elementFromPoint(innerWidth / 2, innerHeight / 2).closest('.st-key-lesson') !== null"
    )


def of_class(store: SqliteStore, code: str) -> Classroom:
    found = store.read(code)
    assert found is not None
    return found


@pytest.mark.parametrize(("scheme", "width", "height"), PROJECTORS)
def test_a_class_of_three_goes_from_the_code_to_the_table(browsers, school, store, tmp_path, scheme, width, height):
    screen = {"viewport": {"width": width, "height": height}, "color_scheme": scheme}
    page, code = open_class(browsers(**screen, accept_downloads=True), school)
    expect_accessible(page)
    assert (
        page.locator(".desk .door .code").evaluate("(element) => parseFloat(getComputedStyle(element).fontSize)") > 100
    )
    phones = [join(browsers(**PHONE, color_scheme=scheme), school, code) for _ in range(2)]
    expect(page.locator(".desk .door .here")).to_have_text("2 here")
    page.keyboard.press("q")
    expect(page.locator(".desk dialog.door")).to_be_hidden()
    expect(page.locator(".desk .place")).to_have_text(f"{FIRST.title} · 1 of {len(FIRST.steps)}")
    assert parse_qs(urlparse(page.url).query)["present"] == ["1"]

    do(page, "a", "close")
    asked = of_class(store, code).current
    [right] = asked.truth.right
    wrong = next(at for at in range(len(asked.question.options)) if at != right)
    expect(page.locator(".desk .ask")).to_have_text(asked.question.text)
    expect(page.locator(".desk .options .label")).to_have_text(list(asked.question.options))
    expect(page.locator(".desk .about")).to_have_text(f"“{asked.question.about}”")
    for phone, option in zip(phones, (wrong, right), strict=True):
        expect(phone.locator("#about")).to_have_text(f"“{asked.question.about}”")
        expect(phone.locator("#text")).to_have_text(asked.question.text)
        choose(phone, option)
    counted(page, "2 of 2 answered")
    assert bars(page) == [], "nobody follows the crowd"
    assert page.locator(".desk .right").count() == 0
    fills_the_screen(page, width, height)
    page.keyboard.press("n")
    expect(page.locator(".desk .said")).to_have_text("Press N again to discard this question and its 2 answers.")
    expect_accessible(page)

    phones.append(join(browsers(**PHONE, color_scheme=scheme), school, code))  # late
    counted(page, "2 of 3 answered")
    choose(phones[2], right)
    phones[0].reload()
    expect(phones[0].locator("#status")).to_contain_text("Sent:")
    page.reload()
    counted(page, "3 of 3 answered")
    do(page, "c", "bars")
    do(page, "h", "again")
    first = [["0"] for _ in asked.question.options]
    first[wrong], first[right] = ["1"], ["2"]
    expect(page.locator(".desk .bars li")).to_have_count(len(first))
    assert bars(page) == first and page.locator(".desk .right").count() == 0
    assert page.locator(".desk .bars").bounding_box()["width"] > 0.9 * width
    fills_the_screen(page, width, height)
    expect_accessible(page)

    do(page, "a", "close")  # again, after they have talked
    for phone in phones:
        choose(phone, right)
    counted(page, "3 of 3 answered")
    do(page, "c", "bars")
    do(page, "h", "reveal")
    both = [[*each, "0"] for each in first]
    both[right][1] = "3"
    expect(page.locator(".desk .bars .bar")).to_have_count(2 * len(both))
    assert bars(page) == both
    expect(phones[0].locator("#result")).to_be_hidden()

    do(page, "r", "next")
    expect(page.locator(".desk .right .label")).to_have_text(asked.question.options[right])
    expect(page.locator(".desk .told")).to_have_text(asked.truth.sentence)
    expect(page).to_have_url(re.compile(rf"/{FIRST.steps[0].show_page}\?"))
    wait_until_idle(page)
    beside, figure = (page.locator(name).bounding_box() for name in (".desk", ".st-key-home_lines"))
    assert figure["x"] + figure["width"] <= beside["x"] < 0.7 * width and beside["height"] == height
    assert parse_qs(urlparse(page.url).query)["lesson"] == [f"{FIRST.name}.1"]
    expect_accessible(page)
    for phone in phones:
        expect(phone.locator("#status")).to_contain_text(asked.truth.sentence)
    expect_accessible(phones[0])  # all of them answered alike

    do(page, "n", "ask")
    expect(page.locator(".desk .place")).to_have_text(f"{FIRST.title} · 2 of {len(FIRST.steps)}")
    expect(phones[0].locator("#status")).to_have_text("You are in. Look at the wall.")
    wait_until_idle(page)
    page.locator(".desk .more_button").click()
    page.locator(".desk .more [data-act=summary]").click()
    expect(page.get_by_text("End the class")).to_be_visible()
    wait_until_idle(page)
    rows = page.locator(".st-key-class_rounds tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.nth(1)).to_contain_text(f"✓ {asked.question.options[right]}: 3")
    expect_accessible(page)
    with page.expect_download() as saved:
        page.get_by_text("Answers as CSV").click()
    saved.value.save_as(tmp_path / "answers.csv")
    table = list(csv.DictReader(io.StringIO(Path(tmp_path / "answers.csv").read_text(encoding="utf-8"))))
    assert [row["round"] for row in table] == ["1"] * 3 + ["2"] * 3
    assert [row["right"] for row in table].count("no") == 1 and {row["step"] for row in table} == {f"{FIRST.name}.1"}

    page.get_by_text("End the class").click()
    page.get_by_role("button", name="Delete it now").click()
    expect(page.locator(".desk")).to_have_count(0)
    until(lambda: page.evaluate("1") and of_class(store, code).phase == Phase.ENDED)
    page.wait_for_function("(localStorage['headlight-teacher'] ?? '{}') === '{}'")
    expect(phones[0].get_by_role("alert")).to_have_text("This class is over.")


def test_q_twice_in_a_row_leaves_the_door_closed_and_escape_does_not_end_the_presentation(browsers, school):
    page, code = open_class(browsers(viewport={"width": 1366, "height": 768}), school, OWN)
    expect(page).to_have_url(re.compile(rf"lesson={FIRST.name}\.1"))
    assert parse_qs(urlparse(page.url).query)["text"] == [OWN]
    expect(page.locator(".desk .said")).to_be_empty()
    door = page.locator(".desk dialog.door")
    assert page.locator(".desk .door .qr svg").count() == 0, "of localhost"
    expect(page.locator(".desk .door .problem")).to_contain_text("--server.address=0.0.0.0")
    page.keyboard.press("Escape")
    expect(door).to_be_hidden()
    page.keyboard.press("q")
    page.keyboard.press("q")
    expect(door).to_be_hidden()
    join(browsers(**PHONE), school, code)
    counted(page, "1 here")  # an answer of the server's that came later
    expect(door).to_be_hidden()
    assert "present=1" in page.url
    page.keyboard.press("?")
    expect(page.get_by_text("while teaching a class: ask, close, histogram, reveal, next step")).to_be_visible()


def test_her_rights_are_in_her_browser_and_her_link_and_in_nothing_that_is_shared(browsers, school, store):
    context = browsers(viewport={"width": 1366, "height": 768}, permissions=["clipboard-read", "clipboard-write"])
    page, code = open_class(context, school)
    page.keyboard.press("q")
    page.locator(".desk .more_button").click()
    page.locator(".desk .more [data-act=link]").click()
    expect(page.locator(".desk .more [data-act=link]")).to_have_text("Copied: keep it to yourself")
    link = page.evaluate("navigator.clipboard.readText()")
    secret = link.partition("#teach=")[2]
    assert secret == page.evaluate(f"JSON.parse(localStorage['headlight-teacher'])['{code}'].secret")
    page.keyboard.press("Escape")
    page.keyboard.press("p")
    share = page.get_by_role("button", name="Share")
    expect(share).to_be_visible()
    wait_until_idle(page)
    share.click()
    expect(page.get_by_text("Copied", exact=True)).to_be_visible()
    shared = page.evaluate("navigator.clipboard.readText()")
    assert "lesson=" in shared and code not in shared and secret not in shared
    assert code in page.url and secret not in page.url
    assert secret not in page.locator("body").inner_text() and secret not in page.content()

    other = browsers().new_page()
    other.goto(page.url)
    expect(other.locator(".desk .whose")).to_have_text(f"This screen is for the teacher of the class {code}.")
    expect(other.locator(".desk .strip")).to_be_hidden()
    expect_accessible(other)
    written = other.get_by_label("Your teacher link")
    written.fill(f"{link[:-1]}x")
    other.get_by_role("button", name="Go on").click()
    expect(other.locator(".desk .refused")).to_have_text("This is not the secret of the class's teacher.")
    written.fill(link)
    other.get_by_role("button", name="Go on").click()
    expect(other.locator(".desk .count")).to_be_visible()
    third = browsers().new_page()
    third.goto(link)
    expect(third.locator(".desk .count")).to_be_visible()
    assert secret not in third.url
    third.goto("about:blank")
    third.goto(f"{school}/lessons?lessons=a+class")
    third.get_by_role("button", name=re.compile(f"Go on with {code}")).click()
    expect(third.locator(".desk [data-act=back]")).to_be_visible()
    assert of_class(store, code).phase == Phase.LOBBY


def test_a_question_of_her_own_another_sentence_and_a_round_thrown_away(browsers, school, store):
    page, code = open_class(browsers(viewport={"width": 1366, "height": 768}), school, UNDECIDED)
    page.keyboard.press("q")
    said = re.compile(rf"“{UNDECIDED}” does not decide questions? [\d, ]+ of this lesson: the class begins with")
    expect(page.locator(".desk .said")).to_have_text(said)
    phone = join(browsers(**PHONE), school, code)
    page.locator(".desk .more_button").click()
    page.locator(".desk .more [data-act=own]").click()
    own = page.locator(".desk dialog.own")
    expect(own).to_be_visible()
    own.get_by_role("button", name="Ask the class").click()
    expect(own.get_by_role("alert")).to_have_text("Write the question first.")
    own.get_by_role("button", name="One of the tokens").click()
    own.get_by_label("Question", exact=True).fill("<b>Which</b> token, q or a?")  # none of them a key of the class
    expect_accessible(page)
    own.get_by_role("button", name="Ask the class").click()
    expect(own).to_be_hidden()
    expect(page.locator(".desk .ask")).to_have_text("<b>Which</b> token, q or a?")
    options = page.locator(".desk .options .label").all_inner_texts()
    assert options == list(of_class(store, code).current.question.options) and len(options) == 8
    choose(phone, 3)
    counted(page, "1 of 1 answered")

    page.keyboard.press("e")
    field = page.get_by_role("textbox", name="Sentence to translate")
    expect(field).to_be_focused()
    field.click()  # above the wall
    field.fill("Tom can swim.")
    field.press("Enter")
    about = page.locator(".desk .about")
    expect(page).to_have_url(re.compile("Tom"))
    expect(about).to_have_text(f"“{FIRST.sentences[0]}”")
    assert of_class(store, code).current.question.options == tuple(options), "frozen"
    page.locator(".desk .more_button").click()
    page.get_by_role("button", name="Count raised hands …").click()
    page.get_by_role("spinbutton", name=options[0], exact=True).fill("12")
    expect_accessible(page)
    page.get_by_role("button", name="Count them").click()
    counted(page, "13 of 13 answered")
    page.keyboard.press("r")
    until(lambda: page.evaluate("1") and of_class(store, code).phase == Phase.REVEALED)
    assert of_class(store, code).current.closed, "revealed while it was open"
    expect(page.locator(".desk .bars")).to_be_visible()
    page.locator(".desk .more_button").click()
    throw = page.locator(".desk .more [data-act=discard]")
    throw.click()
    expect(throw).to_have_text("Discard 13 answers: sure?")
    throw.click()
    counted(page, "1 here")
    assert of_class(store, code).rounds[0].discarded
    page.locator(".desk .more_button").click()
    page.get_by_role("button", name="Lock the door to newcomers").click()
    until(lambda: page.evaluate("1") and of_class(store, code).locked)
    do(page, "a", "close")
    expect(about).to_have_text("“Tom can swim.”")
    assert "Tom" in of_class(store, code).current.truth.link, "of the sentence that the class proposed"
