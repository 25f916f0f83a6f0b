"""The page “What if”: heads are switched off, weights are drawn by hand, and a translation of one's own is scored."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser import go_back, wait_until_idle

from transformer.model.names import AttentionKind

TEXT = "I think that he has never read this book."
HEADS = "cross.3.3", "cross.3.4"


@pytest.fixture(scope="module")
def first(shipped) -> str:
    """The head that is off when the page opens."""
    return shipped.study(TEXT).head_losses("zero", AttentionKind.CROSS).default_head().address


def without(shipped, *heads: str) -> str:
    """Return the translation without some heads, named as in the address."""
    parts = (head.split(".") for head in heads)
    zeroed = [f"zero:{kind}.{int(layer) - 1}.{int(head) - 1}" for kind, layer, head in parts]
    return shipped.translate([TEXT], interventions=zeroed)[0]


def switch(page: Page, name: str) -> Locator:
    return page.locator(f"[data-name='{name}']")


def test_heads_are_switched_off_and_on_by_mouse_and_keys_and_the_link_keeps_them(
    page, address, elsewhere, shipped, first
):
    page.goto(f"{address}/what_if?text={TEXT}")
    changed = page.locator(".translations .line").filter(has_text=re.compile("^Without ")).locator("strong")
    expect(changed).to_have_text(without(shipped, first))
    wait_until_idle(page)
    switch(page, first).focus()
    page.keyboard.press("Escape")
    expect(page.get_by_text("All heads are on.")).to_be_visible()
    page.wait_for_url("**off=none")
    wait_until_idle(page)
    switch(page, HEADS[0]).click()
    page.wait_for_url(f"**off={HEADS[0]}")
    page.keyboard.press("ArrowRight")
    expect(switch(page, HEADS[1])).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**off={'-'.join(HEADS)}")
    expect(changed).to_have_text(without(shipped, *HEADS))
    other = elsewhere(page.url)
    for name in HEADS:
        expect(switch(other, name)).to_have_attribute("aria-pressed", "true")
    go_back(page)
    expect(switch(page, HEADS[1])).to_have_attribute("aria-pressed", "false")


def test_a_token_is_hidden_by_a_click_and_a_bar_moved_by_keys_is_a_change_by_hand(page, address, elsewhere, shipped):
    trace = shipped.trace(TEXT)
    number = trace.source_tokens.index("▁never") + 1
    changed = page.locator(".translations .line strong")
    page.goto(f"{address}/what_if?what_if=rewrite+attention&text={TEXT}&head=cross.3.4&rewrite_key=1")
    expect(changed).to_be_visible()
    wait_until_idle(page)
    page.locator(".weight_bars button").nth(number - 1).click()
    expect(changed).to_have_text(shipped.translate([TEXT], interventions=[f"forbid:cross.*.*:{number - 1}"])[0])
    page.wait_for_url(f"**rewrite_key={number}")
    wait_until_idle(page)
    page.locator(".weight_bars input").nth(number - 1).press("End")
    page.wait_for_url("**rewrite=by+hand**")
    weights = ",".join("1" if token == "▁never" else "0" for token in trace.source_tokens)
    by_hand = shipped.translate([TEXT], interventions=[f"given:cross.*.*:{weights}"])[0]
    expect(changed).to_have_text(by_hand)
    wait_until_idle(page)
    other = elsewhere(page.url)
    expect(other.locator(".weight_bars .number").nth(number - 1)).to_have_text("100 %")
    expect(other.locator(".translations .line strong")).to_have_text(by_hand)
