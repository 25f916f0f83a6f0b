"""The interface in German and French: lesson 1 to its end on a phone, and a class from its code to an answer."""

import re
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect
from support.browser import expect_accessible, wait_until_idle

from headlight.language import speaking, texts_of
from headlight.lessons.file import SHIPPED, read_lesson

ROOT = Path(__file__).parents[2] / "headlight"
QUOTATION = re.compile("„[^“]*“|«[^»]*»")
ENGLISH = re.compile(r"\b(and|are|is|of|the|this|what|which|with|you|your)\b", re.IGNORECASE)
KEY = re.compile(r"\{[a-z_]+\}|\b[a-z]+(?:_[a-z]+)+\b")  # a value that nothing fills, or the name of a text


@pytest.fixture(params=["de", "fr"])
def ui(request):
    """Return a language of the interface; the texts that the test reads are in it."""
    with speaking(request.param):
        yield request.param


def test_the_first_lesson_is_walked_to_its_end_and_nothing_is_cut(visitor, address, ui):
    page, lesson = visitor(width=390, height=844, has_touch=True), read_lesson(SHIPPED / "attention.toml")
    page.goto(f"{address}?ui={ui}&lesson=attention.1")
    panel = page.locator(".lesson")
    for number, step in enumerate(lesson.steps, start=1):
        expect(panel.locator(".place")).to_have_text(re.compile(rf"^{number} "))
        expect(panel.locator(".say")).to_contain_text(step.say[:20].split("**")[0])
        wait_until_idle(page)
        text = "\n".join(page.locator(".lesson, .token_lines, .explorer").all_inner_texts())
        assert not KEY.search(text), KEY.search(text)
        assert page.evaluate("document.documentElement.lang") == ui
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        panel.locator(".next").tap()
    expect(panel.locator(".say")).to_contain_text(lesson.closing[:40])
    expect_accessible(page)


def test_a_wall_and_a_phone_go_to_an_answer_without_an_english_word(visitor, address, ui):
    wall, phone = visitor("wall", width=1366, height=768), visitor("phone", width=390, height=844, has_touch=True)
    texts, desk, room = texts_of(ROOT / "classroom/texts.toml"), wall.locator(".desk"), phone.locator("body")
    wall.goto(f"{address}/lessons?{urlencode({'lessons': 'a class', 'ui': ui})}")
    teach = texts_of(ROOT / "lessons/texts.toml")["page"]["teach_this"]
    wall.get_by_test_id("stButton").get_by_role("button", name=teach).click()
    expect(desk.locator("dialog.door")).to_be_visible()
    wait_until_idle(wall)
    phone.goto(f"{address}/c?ui={ui}")
    phone.get_by_label(texts["page"]["label"]).fill("22222")
    phone.keyboard.press("Enter")
    expect(phone.get_by_role("alert")).to_have_text(texts["refused"]["no_such_class"].format(code="22222"))
    seen = [desk.inner_text(), room.inner_text()]
    phone.goto(f"{address}/c/{desk.locator('.door .code').inner_text()}?ui={ui}")
    expect(phone.locator("#status")).to_have_text(texts["phone"]["lobby"])
    wall.keyboard.press("q")
    for key, act in ("a", "close"), ("c", "bars"), ("h", "again"), ("r", "next"):
        seen += [desk.inner_text(), room.inner_text()]
        expect(desk).to_have_attribute("aria-busy", "false")
        wall.keyboard.press(key)
        expect(desk.locator(f".acts [data-act={act}]")).to_be_visible()
        if key == "a":
            phone.locator("#options button").first.tap()
            expect(phone.locator("#options button").first).to_have_attribute("aria-pressed", "true")
    expect(phone.locator("#result")).to_contain_text(texts["phone"]["right"])
    for text in (QUOTATION.sub("", each) for each in (*seen, desk.inner_text(), room.inner_text())):
        assert not KEY.search(text) and not ENGLISH.search(text) and "”" not in text, text
