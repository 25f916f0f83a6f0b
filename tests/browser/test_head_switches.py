"""Switching heads off: by click and by keys, the translation anew each time, in the address, and all on again."""

import re

import pytest
from playwright.sync_api import Page, expect
from support.browser import expect_accessible, go_back, wait_until_idle

from transformer.interpret.what_if.importance import head_importance

TEXT = "I think that he has never read this book."
HEAD = "cross.3.4"


@pytest.fixture(scope="module")
def first(shipped) -> str:
    """The head that the page begins with off."""
    trace = shipped.trace(TEXT)
    head = head_importance(shipped.model, trace.source_ids, trace.target_ids).default_head()
    return f"{head.kind}.{head.layer + 1}.{head.head + 1}"


@pytest.fixture(scope="module")
def translations(shipped, first) -> dict[tuple[str, ...], str]:
    """What the model finds without some heads, as the address names them."""

    def without(*heads: str) -> str:
        kinds = [(kind, int(layer) - 1, int(head) - 1) for kind, layer, head in (each.split(".") for each in heads)]
        return shipped.translate([TEXT], interventions=[f"zero:{kind}.{layer}.{head}" for kind, layer, head in kinds])[
            0
        ]

    asked = [
        (),
        (HEAD,),
        ("cross.3.3", HEAD),
        ("cross.3.3",),
        ("cross.3.5",),
        ("encoder.1.1",),
        (first,),
        ("cross.3.3", first),
    ]
    return {heads: without(*heads) for heads in asked}


def open_switches(page: Page, address: str, off: str = "none") -> None:
    page.goto(f"{address}/what_if?text={TEXT}&off={off}")
    expect(switch(page, HEAD)).to_be_visible()
    wait_until_idle(page)


def switch(page: Page, name: str):
    return page.locator(f"[data-name='{name}']")


def shows(page: Page, translations: dict[tuple[str, ...], str], off: tuple[str, ...]) -> None:
    """What the page says of the translation without these heads, be it another one or the same."""
    if translations[off] == translations[()]:
        expect(page.get_by_test_id("stMain").get_by_text("The translation stays the same,").first).to_be_visible()
    else:
        expect(changed(page)).to_have_text(translations[off])


def changed(page: Page):
    return page.locator(".translations .line").filter(has_text=re.compile("^Without .+: ")).locator("strong")


def test_a_click_switches_a_head_off_and_on_and_the_link_keeps_it(page, address, elsewhere, translations, first):
    open_switches(page, address)
    expect(page.get_by_text("All heads are on.")).to_be_visible()
    switch(page, "cross.3.3").click()
    shows(page, translations, ("cross.3.3",))
    expect(switch(page, "cross.3.3")).to_have_attribute("aria-pressed", "true")
    page.wait_for_url("**off=cross.3.3")
    switch(page, first).click()
    shows(page, translations, ("cross.3.3", first))
    page.wait_for_url(f"**off=cross.3.3-{first}")
    other = elsewhere()
    other.goto(page.url)
    shows(other, translations, ("cross.3.3", first))
    switch(page, "cross.3.3").click()
    shows(page, translations, (first,))
    expect(page).not_to_have_url(re.compile("off="))  # the page begins with this head off
    go_back(page)
    shows(page, translations, ("cross.3.3", first))
    expect(switch(page, "cross.3.3")).to_have_attribute("aria-pressed", "true")


@pytest.mark.parametrize("width, height", [(1366, 768), (1280, 720)])
def test_both_translations_of_a_dozen_tokens_are_in_sight_without_scrolling(visitor, address, shipped, width, height):
    page = visitor(width=width, height=height)
    open_switches(page, address, HEAD)
    assert len(shipped.trace(TEXT).target_tokens) >= 11
    table = page.locator(".translations .scroller")
    expect(table).to_be_visible()
    assert table.evaluate("place => place.scrollWidth <= place.clientWidth")


def test_keys_go_from_head_to_head_and_escape_switches_all_on(page, address, translations, first):
    open_switches(page, address, HEAD)
    switch(page, HEAD).focus()
    page.keyboard.press("ArrowRight")
    expect(switch(page, "cross.3.5")).to_be_focused()
    expect(page.locator(".readout")).to_contain_text("Without cross-attention layer 3, head 5 the translation is")
    page.keyboard.press("Escape")
    expect(page.get_by_text("All heads are on.")).to_be_visible()
    page.keyboard.press("Enter")
    shows(page, translations, ("cross.3.5",))
    for _ in range(8):
        page.keyboard.press("ArrowUp")
    expect(switch(page, "encoder.1.5")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(switch(page, "decoder.1.5")).to_be_focused()


def test_it_begins_with_a_head_that_changes_the_translation(page, address, translations, first):
    page.goto(f"{address}/what_if?text={TEXT}")
    shows(page, translations, (first,))
    assert translations[(first,)] != translations[()]
    expect(switch(page, first)).to_have_attribute("aria-pressed", "true")
    wait_until_idle(page)
    expect_accessible(page)
    page.get_by_role("button", name="All heads on").click()
    expect(page.get_by_text("All heads are on.")).to_be_visible()
