"""Lessons in the live page: from a disk and offline, each question is about the sentence in the field."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect
from support.access import shuts_no_one_out
from support.live_file import go_to, show
from support.rounded import rounded_checkpoint

from headlight.app.batches import CheckpointFiles
from headlight.app.results import TranslationRequest, roles, translator
from headlight.lessons.answer import Kind, Run, number_words
from headlight.lessons.file import Lesson, read_lessons
from headlight.lessons.live import live_lessons
from headlight.lessons.posed import Posed, pose, pose_somehow
from headlight.views.live.content import live_file

LESSONS = {lesson.name: lesson for lesson in read_lessons()[0]}
ATTENTION = LESSONS["attention"]
OWN = "My sister bought a red car yesterday."
EVIL = "</script><img src=x onerror=window.hurt=1> {word} loves {read}."


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> CheckpointFiles:
    """The checkpoint with the weights that the page has."""
    return rounded_checkpoint(tmp_path_factory.mktemp("rounded"), "en-de")


@pytest.fixture(scope="module")
def file(checkpoint) -> str:
    lessons = live_lessons(list(LESSONS.values()), TranslationRequest(checkpoint, OWN))
    loaded = translator(checkpoint).checkpoint
    return live_file(loaded, checkpoint.name, roles(checkpoint), lessons=lessons)


@pytest.fixture
def ask(checkpoint) -> Callable[..., Posed]:
    """A function that puts a step of a lesson, from 1, to a sentence, or to the lesson's first that decides it."""

    def ask(lesson: Lesson, number: int, text: str = "", **address: str) -> Posed:
        sentences = lesson.sentences_of(number - 1)
        run = Run(TranslationRequest(checkpoint, text or sentences[0]), address)
        if text:
            return pose(lesson, number - 1, run)
        return pose_somehow(lesson, number - 1, run, sentences)

    return ask


def plain(parts: list[tuple[str, str]]) -> str:
    return "".join(text for _, text in parts)


def asked_of(posed: Posed) -> str:
    """What the panel asks, with the meanings of words of the translation."""
    return plain(posed.glossed(posed.text(posed.step.say), posed.text(posed.step.ask))[1])


def option(page: Page, posed: Posed, *, right: bool) -> Locator:
    at = next(at for at, each in enumerate(posed.options) if (each.name in posed.answer.right) == right)
    return page.locator(".lesson .options button").nth(at)


def is_at(page: Page, lesson: Lesson, number: int) -> None:
    expect(page.locator(".lesson_side")).to_be_visible()
    expect(page.locator(".lesson .title")).to_have_text(lesson.title)
    expect(page.locator(".lesson .place")).to_have_text(f"{number} of {len(lesson.steps)}")
    expect(page.locator(".lesson")).to_have_attribute("aria-busy", "false")


def begin(page: Page, lesson: Lesson) -> None:
    page.locator("[data-tab=lessons]").click()
    page.get_by_role("button", name=f"Begin: {lesson.title}").click()
    is_at(page, lesson, 1)


def test_a_lesson_to_its_end(live, ask):
    page = live()
    begin(page, ATTENTION)
    feedback, following = page.locator(".lesson .feedback"), page.get_by_role("button", name="Next →")
    lines = page.locator("[data-view=home] .component")

    # One of several, wrong, with a hint, right.
    step = ask(ATTENTION, 1)
    expect(page.locator(".lesson .ask")).to_have_text(asked_of(step))
    expect(lines).to_have_class(re.compile("veiled"))
    option(page, step, right=False).click()
    expect(feedback).to_contain_text("Not yet. You said")
    page.get_by_role("button", name="Hint (3 left)").click()
    expect(page.locator(".lesson .hints li")).to_have_text([step.hints()[0]])
    option(page, step, right=True).click()
    expect(feedback).to_have_text(f"Right. {step.feedback(next(iter(step.answer.right)))}")
    expect(lines).not_to_have_class(re.compile("veiled"))
    page.get_by_role("button", name="Show me").click()
    at = step.address(shown=True)
    expect(page.locator(".heads_name")).to_have_text(f"Cross-attention: layer {at['layer']}, head {at['head']}")

    # The step after it, in the explorer without a word on what its heads do.
    following.click()
    is_at(page, ATTENTION, 2)
    expect(page.locator("body[data-shown=attention]")).to_be_attached()
    expect(page.locator("[data-view=attention] .worth")).to_be_hidden()

    following.click()
    is_at(page, ATTENTION, 3)
    # Several.
    following.click()
    is_at(page, ATTENTION, 4)
    step = ask(ATTENTION, 4, page.locator("#live_text").input_value())
    assert step.answer.kind == Kind.SEVERAL
    for at, each in enumerate(step.options):
        if each.name in step.answer.right:
            page.locator(".lesson .options button").nth(at).click()
    page.get_by_role("button", name="Check").click()
    expect(feedback).to_have_text(f"Right. {step.feedback(sorted(step.answer.right))}")

    # A number: too high, then near enough.
    following.click()
    is_at(page, ATTENTION, 5)
    step = ask(ATTENTION, 5, page.locator("#live_text").input_value())
    for off, words in ((1.5, "Not yet. You said {}. That is too high."), (0.5, "Right. You said {}.")):
        value = round(step.answer.value + off * step.answer.margin, 4)
        page.get_by_label("Your number").fill(str(value))
        page.get_by_role("button", name="Check").click()
        expect(feedback).to_contain_text(words.format(number_words(value)))

    # A note, and something to be done: by the sentence that is written.
    following.click()
    is_at(page, ATTENTION, 6)
    page.get_by_role("textbox", name="Your observation").fill("The full stop.")
    following.click()
    is_at(page, ATTENTION, 7)
    page.get_by_role("button", name="I have done it").click()
    text = page.locator("#live_text").input_value()
    head = ask(ATTENTION, 7, text).answer.names
    done = ask(ATTENTION, 7, text, layer=head["layer"], head=head["head"])
    expect(feedback).to_contain_text(done.feedback(True, whole=False))
    page.get_by_role("button", name="Show me").click()
    expect(page.locator("#live_text")).to_have_value(ATTENTION.steps[6].show["text"])
    page.get_by_role("button", name="Finish").click()
    expect(page.locator(".lesson .say")).to_have_text(f"You are through. {ATTENTION.goal}")
    expect(feedback).to_contain_text(re.compile(r"You found [345] of 6 answers\."))
    page.get_by_role("button", name="All lessons").click()
    expect(page.get_by_role("button", name=f"Go on: {ATTENTION.title}")).to_be_visible()


def test_another_sentence_in_the_middle_is_asked_about(live, ask):
    page, lesson = live(), LESSONS["decoding"]
    begin(page, lesson)
    option(page, ask(lesson, 1), right=True).click()
    page.locator("#live_text").fill(OWN)
    step = ask(lesson, 1, OWN)
    options = [step.label(each) for each in step.options]
    expect(page.locator(".lesson .options button")).to_have_text(options)
    expect(page.get_by_text("You have answered this for another sentence")).to_be_visible()
    option(page, step, right=True).click()
    expect(page.locator(".lesson .feedback")).to_have_text(f"Right. {step.feedback(next(iter(step.answer.right)))}")
    # It stays the reader's on the steps that follow, and after a reload.
    page.get_by_role("button", name="Next →").click()
    is_at(page, lesson, 2)
    page.get_by_role("button", name="←").click()
    is_at(page, lesson, 1)
    expect(page.locator("#live_text")).to_have_value(OWN)
    page.reload()
    expect(page.locator(".lesson .feedback")).to_have_text(f"Right. {step.feedback(next(iter(step.answer.right)))}")
    # Off the way and back; out of the lesson.
    page.locator("[data-tab=home]").click()
    page.get_by_role("button", name="Back to the lesson’s figure").click()
    expect(page.locator("body[data-shown=attention]")).to_be_attached()
    page.get_by_role("button", name="Leave the lesson").click()
    expect(page.locator(".lesson")).to_be_hidden()
    assert "lesson" not in page.url


def test_heads_are_switched_off_until_the_translation_changes(live, ask):
    """What is done on the page is judged as it is done, whatever button is pressed."""
    lesson = LESSONS["heads"]
    step = ask(lesson, 7)
    page = live()
    go_to(page, "heads", lesson="heads.7", off="none", text=step.run.request.text)
    is_at(page, lesson, 7)
    page.get_by_role("button", name="I have done it").click()
    expect(page.locator(".lesson .feedback")).to_contain_text(step.feedback(True, whole=False))
    off = step.answer.names["off"]
    for name in off.split("-"):
        page.locator(f"[data-name='{name}']").click()
    done = ask(lesson, 7, step.run.request.text, off=off)
    expect(page.locator(".lesson .feedback")).to_have_text(f"Right. {done.feedback(True)}")


def test_a_step_that_a_browser_cannot_measure_says_where_it_is(live):
    page = live()
    go_to(page, "home", lesson="learn")
    lesson = LESSONS["learn"]
    is_at(page, lesson, 1)
    expect(page.locator(".lesson .undecided")).to_have_text("The app has this step on its page Translate.")
    expect(page.get_by_role("button", name="Show me")).to_be_hidden()
    for number in range(2, len(lesson.steps) + 1):
        page.get_by_role("button", name="Next →").click()
        is_at(page, lesson, number)
    page.get_by_role("button", name="Finish").click()
    expect(page.locator(".lesson .feedback")).to_have_text("You found 0 of 0 answers.")


def test_the_small_example_is_there_to_compute_by_hand(live, ask):
    lesson = LESSONS["qkv"]
    page = live()
    begin(page, lesson)
    step = ask(lesson, 1)
    inside = page.locator("[data-view=inside]")
    expect(inside.locator(".choices")).to_be_hidden()
    expect(inside.locator(".component")).to_contain_text("token 3")
    page.get_by_label("Your number").fill(f"{step.answer.value:.2f}")
    page.get_by_role("button", name="Check").click()
    expect(page.locator(".lesson .feedback")).to_contain_text(
        f"Right. You said {number_words(round(step.answer.value, 2))}."
    )
    for number in range(2, 7):
        page.get_by_role("button", name="Next →").click()
        is_at(page, lesson, number)
    # A cell of the mask is closed by a click: what is to be done is judged with it.
    step = ask(lesson, 6)
    page.get_by_role("button", name="I have done it").click()
    expect(page.locator(".lesson .feedback")).to_contain_text(step.feedback(True, whole=False))
    page.get_by_role("button", name="Show me").click()
    done = ask(lesson, 6, OWN, **step.address(shown=True))
    expect(page.locator(".lesson .feedback")).to_have_text(f"Right. {done.feedback(True)}")
    page.get_by_role("button", name="Next →").click()
    is_at(page, lesson, 7)
    expect(inside.locator(".choices")).to_be_visible()


def test_hostile_text_stays_text_and_what_cannot_be_translated_is_said(live, ask):
    page = live()
    begin(page, ATTENTION)
    page.locator("#live_text").fill(EVIL)
    step = ask(ATTENTION, 1, EVIL)
    expect(page.locator(".lesson .ask")).to_have_text(asked_of(step))
    page.locator("#live_text").fill("")
    expect(page.locator(".lesson .undecided")).to_have_text("The text is empty: please write a sentence.")
    page.get_by_role("button", name="Next →").click()
    is_at(page, ATTENTION, 2)
    assert page.locator("#live_text").input_value() in ATTENTION.sentences
    for place in ("nonsense.2", "attention.99", "attention.0", "<b>.1"):
        show(page, "home", lesson=place)
    assert page.locator("img").count() == 0
    assert page.evaluate("window.hurt") is None


def test_on_a_phone_the_step_is_a_sheet_that_makes_room(live, ask):
    page = live("light", 390)
    begin(page, ATTENTION)
    sheet = page.locator(".lesson")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    bottom = sheet.bounding_box()
    assert bottom["y"] + bottom["height"] == pytest.approx(page.viewport_size["height"], abs=1)
    option(page, ask(ATTENTION, 1), right=True).click()
    expect(sheet).to_have_class(re.compile(r"\blow\b"))
    shuts_no_one_out(page)
    page.get_by_role("button", name="Next →").click()
    is_at(page, ATTENTION, 2)
    sheet.locator(".fold").click()
    expect(sheet.locator(".body")).to_be_hidden()


@pytest.mark.parametrize("scheme, width", [("dark", 390), ("light", 1366)])
def test_it_shuts_no_one_out(live, scheme, width):
    page = live(scheme, width)
    page.locator("[data-tab=lessons]").click()
    expect(page.locator("body[data-shown=lessons]")).to_be_attached()
    shuts_no_one_out(page)
    for name, number in (("attention", 1), ("attention", 4), ("decoding", 3), ("qkv", 1), ("heads", 6)):
        show(page, "lessons")
        go_to(page, "home", lesson=name)
        is_at(page, LESSONS[name], 1)
        for at in range(2, number + 1):
            page.get_by_role("button", name="Next →").click()
            is_at(page, LESSONS[name], at)
        shuts_no_one_out(page)
