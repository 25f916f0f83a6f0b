"""Switching heads off: by click and by keys, the translation anew each time, in the address, and all on again."""

import re

import pytest
from playwright.sync_api import Page, expect
from support.access import shuts_no_one_out
from support.rest import at_rest

TEXT = "I think that he has never read this book."
HEAD = "cross.3.4"
FIRST = "cross.3.5"  # without which this sentence loses most: the page begins with it off


@pytest.fixture(scope="module")
def translations(shipped) -> dict[tuple[str, ...], str]:
    """What the model finds without some heads, as the address names them."""

    def without(*heads: str) -> str:
        kinds = [(kind, int(layer) - 1, int(head) - 1) for kind, layer, head in (each.split(".") for each in heads)]
        return shipped.translate([TEXT], interventions=[f"zero:{kind}.{layer}.{head}" for kind, layer, head in kinds])[
            0
        ]

    asked = [(), (HEAD,), ("cross.3.3", HEAD), ("cross.3.3",), ("cross.3.5",), ("encoder.1.1",), ("cross.3.3", FIRST)]
    return {heads: without(*heads) for heads in asked}


def open_switches(page: Page, address: str, off: str = "none") -> None:
    page.goto(f"{address}/what_if?text={TEXT}&off={off}")
    expect(switch(page, HEAD)).to_be_visible()
    at_rest(page)


def switch(page: Page, name: str):
    return page.locator(f"[data-name='{name}']")


def changed(page: Page):
    return page.get_by_test_id("stMain").get_by_text(re.compile("^Without .+: ")).locator("strong")


def test_a_click_switches_a_head_off_and_on_and_the_link_keeps_it(page, address, elsewhere, translations):
    open_switches(page, address)
    expect(page.get_by_text("All heads are on.")).to_be_visible()
    switch(page, "cross.3.3").click()
    expect(changed(page)).to_have_text(translations[("cross.3.3",)])
    expect(switch(page, "cross.3.3")).to_have_attribute("aria-pressed", "true")
    page.wait_for_url("**off=cross.3.3")
    switch(page, FIRST).click()
    expect(changed(page)).to_have_text(translations[("cross.3.3", FIRST)])
    page.wait_for_url(f"**off=cross.3.3-{FIRST}")
    other = elsewhere()
    other.goto(page.url)
    expect(changed(other)).to_have_text(translations[("cross.3.3", FIRST)])
    switch(page, "cross.3.3").click()
    expect(changed(page)).to_have_text(translations[(FIRST,)])
    expect(page).not_to_have_url(re.compile("off="))  # the page begins with this head off
    page.go_back()
    expect(changed(page)).to_have_text(translations[("cross.3.3", FIRST)])
    expect(switch(page, "cross.3.3")).to_have_attribute("aria-pressed", "true")


@pytest.mark.parametrize("width, height", [(1366, 768), (1280, 720)])
def test_both_translations_of_a_dozen_tokens_are_in_sight_without_scrolling(visitor, address, shipped, width, height):
    page = visitor(width=width, height=height)
    open_switches(page, address, HEAD)
    assert len(shipped.trace(TEXT).target_tokens) >= 11
    table = page.locator(".places.compared")
    expect(table).to_be_visible()
    assert table.evaluate("place => place.scrollWidth <= place.clientWidth")


def test_keys_go_from_head_to_head_and_escape_switches_all_on(page, address, translations):
    open_switches(page, address, HEAD)
    switch(page, HEAD).focus()
    page.keyboard.press("ArrowRight")
    expect(switch(page, "cross.3.5")).to_be_focused()
    expect(page.locator(".readout")).to_contain_text("Without cross-attention layer 3, head 5 log P")
    page.keyboard.press("Escape")
    expect(page.get_by_text("All heads are on.")).to_be_visible()
    page.keyboard.press("Enter")
    expect(changed(page)).to_have_text(translations[("cross.3.5",)])
    for _ in range(8):
        page.keyboard.press("ArrowUp")
    expect(switch(page, "encoder.1.5")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(switch(page, "decoder.1.5")).to_be_focused()


def test_it_begins_with_a_head_that_changes_the_translation(page, address, translations):
    page.goto(f"{address}/what_if?text={TEXT}")
    expect(changed(page)).to_have_text(translations[(FIRST,)])
    assert translations[(FIRST,)] != translations[()]
    expect(switch(page, FIRST)).to_have_attribute("aria-pressed", "true")
    at_rest(page)
    shuts_no_one_out(page)
    page.get_by_role("button", name="All heads on").click()
    expect(page.get_by_text("All heads are on.")).to_be_visible()
