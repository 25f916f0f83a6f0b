"""A lesson that was made as one file: opened from a disk, it asks, judges, helps and remembers without a server."""

import re

import pytest
from playwright.sync_api import Page, expect
from support.access import shuts_no_one_out

from headlight.app import results
from headlight.app.results import TranslationRequest
from headlight.lessons.answer import Kind, number_words
from headlight.lessons.file import Lesson, read_lessons
from headlight.lessons.offline import offline_page
from headlight.lessons.overview import pose_for
from headlight.lessons.posed import Posed

LESSONS = {lesson.name: lesson for lesson in read_lessons()[0]}


def request_of(lesson: Lesson) -> TranslationRequest:
    return TranslationRequest(results.checkpoint("en-de"), lesson.sentences[0])


def page_of(name: str) -> str:
    return offline_page(LESSONS[name], request_of(LESSONS[name]))


def posed(name: str, number: int) -> Posed:
    """A step, from 1, as the file has it."""
    return pose_for(LESSONS[name], number - 1, request_of(LESSONS[name]))


def option(page: Page, step: Posed, *, right: bool):
    name = next(each for each, option in enumerate(step.options) if (option.name in step.answer.right) == right)
    return page.locator(".lesson .options button").nth(name)


def go_to(page: Page, step: int, name: str) -> Posed:
    page.evaluate("step => { location.hash = step; }", step)
    expect(page.locator(".lesson .place")).to_have_text(f"{step} of {len(LESSONS[name].steps)}")
    return posed(name, step)


def test_wrong_a_hint_right_and_all_of_it_after_a_reload(open_alone):
    page = open_alone(page_of("attention"))
    step, feedback = posed("attention", 1), page.locator(".lesson .feedback")
    explorer, veil = page.locator(".lesson_explorer"), page.get_by_text("Veiled until you have answered")
    expect(page.get_by_role("heading", name="What is attention?")).to_be_visible()
    expect(page.get_by_text(LESSONS["attention"].goal)).to_be_visible()
    expect(veil).to_be_visible()
    assert explorer.evaluate("element => element.inert")
    option(page, step, right=False).click()
    expect(feedback).to_contain_text("Not yet. You said")
    assert step.fill(step.answer.truth) not in page.locator("body").inner_text()
    page.get_by_role("button", name="Hint (3 left)").click()
    expect(page.locator(".lesson .hints li")).to_have_text([step.hints()[0]])
    option(page, step, right=True).click()
    [name] = step.answer.right
    expect(feedback).to_have_text(f"Right. {step.feedback(name)}")
    expect(veil).to_be_hidden()
    assert not explorer.evaluate("element => element.inert")
    page.reload()
    expect(feedback).to_have_text(f"Right. {step.feedback(name)}")
    expect(page.locator(".lesson .hints li")).to_have_count(1)
    page.get_by_role("button", name="Show me").click()
    shown = step.address(shown=True)
    expect(page.locator(".heads_name")).to_have_text(f"Cross-attention: layer {shown['layer']}, head {shown['head']}")


def test_keys_and_buttons_go_from_step_to_step_and_the_address_keeps_the_step(open_alone):
    page = open_alone(page_of("attention"))
    place = page.locator(".lesson .place")
    page.keyboard.press("ArrowRight")
    expect(place).to_have_text("2 of 7")
    page.get_by_role("button", name="Next").click()
    expect(place).to_have_text("3 of 7")
    expect(page.get_by_text("The app has this step on its page Home.")).to_be_visible()
    page.keyboard.press("ArrowLeft")
    expect(place).to_have_text("2 of 7")
    expect(page.locator(".elsewhere")).to_be_hidden()
    page.reload()
    expect(place).to_have_text("2 of 7")
    page.go_back()
    expect(place).to_have_text("3 of 7")
    go_to(page, 6, "attention")
    page.get_by_role("textbox", name="Your observation").fill("The first one.")
    page.keyboard.press("PageDown")  # written in the field
    expect(place).to_have_text("6 of 7")
    page.reload()
    expect(page.get_by_role("textbox", name="Your observation")).to_have_value("The first one.")
    page.evaluate("() => { location.hash = 'nonsense'; }")
    expect(place).to_have_text("1 of 7")


def test_several_a_number_and_something_to_do_up_to_the_end(open_alone):
    page = open_alone(page_of("attention"))
    feedback, check = page.locator(".lesson .feedback"), page.get_by_role("button", name="Check")
    step = go_to(page, 4, "attention")
    assert step.answer.kind == Kind.SEVERAL
    option(page, step, right=True).click()
    option(page, step, right=False).click()
    check.click()
    right = next(each.name for each in step.options if each.name in step.answer.right)
    wrong = next(each.name for each in step.options if each.name not in step.answer.right)
    expect(feedback).to_contain_text(step.feedback([right, wrong], whole=False))
    option(page, step, right=False).click()
    for at, each in enumerate(step.options):
        if each.name in step.answer.right - {right}:
            page.locator(".lesson .options button").nth(at).click()
    check.click()
    expect(feedback).to_have_text(f"Right. {step.feedback(sorted(step.answer.right))}")

    step = go_to(page, 5, "attention")
    estimate = page.get_by_label("Your number")
    for off, words in ((1.5, "Not yet. You said"), (0.5, "Right. You said")):
        value = step.answer.value + off * step.answer.margin
        estimate.fill(f"{value:.9f}")
        check.click()
        expect(feedback).to_contain_text(f"{words} {number_words(value)}.")
    expect(feedback).to_contain_text(step.fill(step.answer.truth))

    step = go_to(page, 7, "attention")
    expect(page.get_by_text("This is done in the app, on its page Translate")).to_be_visible()
    expect(page.get_by_role("button", name="I have done it")).to_have_count(0)
    page.get_by_role("button", name="Show me").click()
    expect(feedback).to_contain_text("cross: they read")
    expect(page.locator(".lesson_look summary").first).to_contain_text(step.step.show["text"])
    page.get_by_role("button", name="Finish").click()
    expect(page.locator(".lesson .say")).to_have_text("That was the last step. You found 2 of 5 answers.")
    page.get_by_title("The step before").click()
    expect(page.locator(".lesson .place")).to_have_text("7 of 7")


def test_what_the_explorer_says_of_heads_stands_there_once_a_question_about_it_is_answered(open_alone):
    page = open_alone(page_of("heads"))
    step = go_to(page, 2, "heads")
    expect(page.locator(".heads_name")).to_have_text("Encoder self-attention: layer 1, head 1")
    told = page.get_by_text("Three heads worth a look in this sentence")
    expect(told).to_be_hidden()
    page.locator(".overview canvas").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".main .readout")).to_have_text(re.compile(r"^Encoder self-attention, layer \d, head \d\.$"))
    option(page, step, right=True).click()
    expect(told).to_be_visible()
    page.get_by_role("button", name="Show me").click()
    [right] = step.answer.right
    layer, head = right.split(".")
    expect(page.locator(".heads_name")).to_have_text(f"Encoder self-attention: layer {layer}, head {head}")
    expect(page.locator(".overview .count")).to_contain_text("fit, the others are faint")


def test_what_a_reader_chose_in_the_explorer_stays_until_the_next_step(open_alone):
    page = open_alone(page_of("attention"))
    step, heads = go_to(page, 2, "attention"), page.locator(".heads_name")
    expect(heads).to_have_text("Cross-attention: layer {layer}, head {head}".format(**step.address()))
    page.get_by_role("button", name="encoder", exact=True).click()
    option(page, step, right=False).click()
    expect(page.locator(".lesson .feedback")).to_contain_text("Not yet.")
    expect(heads).to_contain_text("Encoder self-attention")
    step = go_to(page, 5, "attention")
    expect(heads).to_have_text("Cross-attention: layer {layer}, head {head}".format(**step.address()))


def test_it_works_where_a_browser_remembers_nothing_and_with_a_hostile_memory(open_alone):
    page = open_alone(page_of("attention"))
    key = posed("attention", 1).key
    hostile = ({"choice": {"a": [1]}, "hints": "many", "right": True}, [1], 3, {"choice": "constructor", "hints": 99})
    for value in hostile:
        page.evaluate(
            "([key, value]) => localStorage.setItem('headlight-lessons', JSON.stringify({[key]: value}))", [key, value]
        )
        page.reload()
        expect(page.locator(".lesson .place")).to_have_text("1 of 7")
        expect(page.locator(".lesson .feedback")).to_have_text("")
    page.add_init_script(
        "for (const name of ['localStorage', 'sessionStorage']) {"
        "  Object.defineProperty(window, name, { get() { throw new DOMException('forbidden', 'SecurityError'); } });"
        "}"
    )
    page.reload()
    step = posed("attention", 1)
    option(page, step, right=True).click()
    expect(page.locator(".lesson .feedback")).to_contain_text("Right.")
    page.keyboard.press("PageDown")
    expect(page.locator(".lesson .place")).to_have_text("2 of 7")
    page.keyboard.press("PageUp")
    expect(page.locator(".lesson .feedback")).to_contain_text("Right.")


@pytest.mark.parametrize("scheme, width", [("dark", 390), ("light", 390), ("light", 1366), ("dark", 1366)])
def test_it_shuts_no_one_out(open_alone, scheme, width):
    page = open_alone(page_of("attention"), scheme, width, has_touch=width < 640)
    shuts_no_one_out(page)
    for number in (2, 5, 6):
        step = go_to(page, number, "attention")
        if number == 2:
            option(page, step, right=False).click()
            page.locator(".lesson .hint").click()
        shuts_no_one_out(page)


def test_it_is_answered_by_the_keyboard_alone(open_alone):
    page = open_alone(page_of("attention"))
    step = posed("attention", 1)
    wrong = option(page, step, right=False)
    wrong.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".lesson .feedback")).to_contain_text("Not yet.")
    expect(wrong).to_be_focused()
    option(page, step, right=True).focus()
    page.keyboard.press("Enter")
    expect(page.locator(".lesson .feedback")).to_contain_text("Right.")
    expect(page.get_by_role("button", name="Next")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".lesson .place")).to_have_text("2 of 7")
