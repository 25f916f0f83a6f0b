"""The interface in German and French: lesson 1 to its end on a phone, and the phone of a class."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect
from support.browser import expect_accessible, wait_until_idle

from headlight.language import speaking, texts_of
from headlight.lessons.file import SHIPPED, read_lesson

ROOT = Path(__file__).parents[2] / "headlight"
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


def test_a_phone_of_a_class_follows_the_language_of_its_code(visitor, address, ui):
    page, texts = visitor(width=390, height=844), texts_of(ROOT / "classroom/texts.toml")
    page.goto(f"{address}/c?ui={ui}")
    expect(page.get_by_role("button", name=texts["page"]["join"])).to_be_visible()
    page.get_by_label(texts["page"]["label"]).fill("22222")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text(texts["refused"]["no_such_class"].format(code="22222"))
