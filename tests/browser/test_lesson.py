"""A lesson: one visitor walks through every page, and a second one opens each view from its address alone."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser import wait_until_idle

from headlight.plots.tokens import shown_token
from headlight.views.decoding.content import hardest_step
from transformer import Translator
from transformer.checkpoint import find_checkpoints

CHECKPOINTS = Path(__file__).parents[2] / "checkpoints"
SENTENCE = "She reads a book in the garden."
NARROW = 640  # pixels: below, the sidebar lies over the page
SCREENS = {"at a desk": (1440, "light"), "on a phone in the dark": (390, "dark")}


def second_checkpoint() -> Path:
    return find_checkpoints(CHECKPOINTS)[1]


@pytest.fixture(scope="module")
def other() -> Translator:
    """The checkpoint that the app does not open with."""
    return Translator.load(second_checkpoint(), "cpu")


def main(page: Page):
    return page.get_by_test_id("stMain")


def translation(page: Page):
    return main(page).locator(".token_lines .whole")


def sidebar_is_open(page: Page) -> bool:
    """On a phone it slides in and out from the left, over the page."""
    return page.get_by_test_id("stSidebar").evaluate("sidebar => sidebar.getBoundingClientRect().right > 0")


def open_sidebar(page: Page) -> None:
    wait_until_idle(page)  # it may be on its way in or out
    if not sidebar_is_open(page):
        page.get_by_test_id("stExpandSidebarButton").click()
    expect(page.get_by_test_id("stSidebar")).to_be_in_viewport()


def close_sidebar(page: Page) -> None:
    wait_until_idle(page)
    if page.viewport_size["width"] < NARROW and sidebar_is_open(page):
        page.get_by_test_id("stSidebarCollapseButton").get_by_role("button").click()
        expect(page.get_by_test_id("stSidebar")).not_to_be_in_viewport()


def go_to(page: Page, name: str) -> None:
    open_sidebar(page)  # the page is at rest then: what was chosen last goes along
    page.get_by_role("link", name=name, exact=True).click()
    expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()
    close_sidebar(page)


def choose(page: Page, key: str, option: str) -> None:
    main(page).locator(f".st-key-{key}").get_by_role("radio", name=option, exact=True).click()


def shows_everywhere(
    page: Page, elsewhere: Callable[[], Page], look: Callable[[Page], Locator], expected: str | list[str]
) -> None:
    """The page shows this; at a desk also to a second visitor, who has nothing but the address."""
    expect(look(page)).to_have_text(expected)
    if page.viewport_size["width"] < NARROW:
        return
    second = elsewhere()
    second.goto(page.url)
    expect(second.get_by_label("Sentence to translate")).to_have_value(SENTENCE)
    expect(look(second)).to_have_text(expected)


@pytest.mark.parametrize("screen", SCREENS)
def test_a_lesson_through_every_page_can_be_followed_from_its_addresses(visitor, elsewhere, address, other, screen):
    width, scheme = SCREENS[screen]
    page = visitor(width=width, height=900, scheme=scheme)
    trace = other.trace(SENTENCE)
    hardest = hardest_step(trace)

    # Home: type, and change the checkpoint.
    page.goto(f"{address}/?map=1")
    expect(translation(page)).not_to_be_empty()
    page.get_by_label("Sentence to translate").fill(SENTENCE)
    page.get_by_label("Sentence to translate").press("Enter")
    page.get_by_role("combobox", name="Checkpoint").click()
    page.get_by_role("option", name=second_checkpoint().name.replace("-", " → ")).click()
    expect(translation(page)).to_have_text(trace.target_text)
    page.wait_for_url("**checkpoint=**")
    shows_everywhere(page, elsewhere, translation, trace.target_text)

    # Decoding: from the hardest step to the next.
    go_to(page, "Decoding")
    expect(page.locator(".place")).to_contain_text(f"Step {hardest + 1} of {len(trace.target_ids)}: ")
    page.get_by_role("button", name="One step forward").click()
    page.wait_for_url(f"**step={hardest + 2}**")
    candidates = list(map(shown_token, trace.candidate_tokens[hardest + 1]))
    shows_everywhere(page, elsewhere, lambda one: one.locator("td.piece button"), candidates)

    # Attention: a head.
    go_to(page, "Attention")
    page.get_by_text("Table of the heads").click()
    page.get_by_role("button", name="layer 2, head 4", exact=True).click()
    page.wait_for_url("**head=cross.2.4**")
    heading = "Cross-attention: layer 2, head 4"
    shows_everywhere(page, elsewhere, lambda one: one.locator(".heads_name"), heading)

    # Inside: the head just chosen, a query by its button; every sum ends with the model's own number.
    go_to(page, "Inside")
    expect(page.locator(".st-key-head_buttons [aria-checked=true]")).to_have_text("4")
    page.get_by_role("group", name="Query").get_by_role("button").nth(3).click()
    page.wait_for_url("**query=4**")
    page.get_by_role("button", name="Softmax: scores become weights").click()
    page.wait_for_url("**at_step=softmax**")
    written = page.locator("li.step.softmax .hand").inner_text()
    shows_everywhere(page, elsewhere, lambda one: one.locator("li.step.softmax .hand"), written)
    choose(page, "inside", "architecture")
    page.get_by_role("button", name=re.compile("^Cross-attention")).click()
    page.wait_for_url("**block=decoder.0.cross_attention**")
    block = "Multi-head cross-attention, decoder layer 1"
    shows_everywhere(page, elsewhere, lambda one: one.get_by_role("heading", name="Multi-head"), block)
    choose(page, "inside", "masks")
    choose(page, "kind_buttons", "decoder")
    expect(page.locator(".st-key-next_tokens .main-svg").first).to_be_visible()
    changed = page.locator(".st-key-change_found .headline")
    expect(changed).to_have_text(re.compile("^Unmasked, its own words get "))
    wait_until_idle(page)
    shows_everywhere(page, elsewhere, lambda one: one.locator(".st-key-change_found .headline"), changed.inner_text())

    # Positions: another view, another pair.
    go_to(page, "Positions")
    choose(page, "positions", "waves")
    page.get_by_role("slider", name="Pair of dimensions i").press("ArrowRight")
    page.wait_for_url("**pair=5**")
    shows_everywhere(page, elsewhere, lambda one: one.locator(".st-key-rotation .xtitle").first, "dimension 10: sine")
