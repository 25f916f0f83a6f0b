"""Research and Positions: heads are found in the atlas, waves chosen, by mouse, keys and address."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser import go_back, wait_for_keys, wait_until_idle

from headlight.app import results
from headlight.views.research.atlas_content import summaries_of_atlas

QUERY = "checkpoint=reverse&text=abc+xyz"
HEADLINE, READOUT = ".head_card .headline", ".head_finder .readout"


@pytest.fixture(scope="module")
def headlines() -> dict[str, str]:
    """The headline of every head in the shipped atlas."""
    heads = summaries_of_atlas(results.atlas(results.checkpoint("reverse")), None)
    return {each.heads.address: each.role.headline for each in heads}


def dot(page: Page, name: str) -> Locator:
    return page.locator(f".plot [data-name='{name}']")


def test_heads_are_found_by_mouse_and_keys_and_opened(page, address, elsewhere, headlines):
    page.goto(f"{address}/research?research=atlas&{QUERY}&head=cross.2.1")
    expect(page.locator(READOUT)).to_contain_text(headlines["cross.2.1"])
    wait_for_keys(page)
    dot(page, "encoder.2.1").click()
    expect(page.locator(READOUT)).to_contain_text(headlines["encoder.2.1"])
    page.wait_for_url("**head=encoder.2.1**")
    expect(elsewhere(page.url).locator(READOUT)).to_contain_text(headlines["encoder.2.1"])
    go_back(page)
    expect(dot(page, "cross.2.1")).to_have_attribute("aria-pressed", "true")
    wait_for_keys(page)
    dot(page, "cross.2.1").press("ArrowUp")
    name = page.locator(".plot [data-name]:focus").get_attribute("data-name")
    assert name != "cross.2.1"
    page.keyboard.press("Enter")
    page.wait_for_url(f"**head={name}**")
    wait_until_idle(page)
    page.get_by_role("link", name="This head: examples and numbers").press("Enter")
    expect(page.locator(HEADLINE)).to_have_text(headlines[name])


def test_examples_of_a_head_are_read_and_the_head_goes_along(page, address):
    page.goto(f"{address}/attention?attention=one+head&{QUERY}&head=encoder.1.1")
    expect(page.locator(HEADLINE)).not_to_be_empty()
    wait_for_keys(page)
    page.locator(".examples .queries button").first.press("ArrowRight")
    expect(page.locator(".examples .queries button").nth(1)).to_be_focused()
    before = page.locator(".examples").inner_text()
    page.locator(".choose select").select_option("1")
    expect(page.locator(".examples")).not_to_have_text(before)
    similar = page.locator(".nearest button").first
    name = similar.inner_text().rpartition(" (")[0]
    similar.click()
    expect(page.locator(".head_card .name")).to_have_text(re.compile(f"{name}$"))
    expect(page.locator(".choose select")).to_have_value("1")
    wait_until_idle(page)
    head = page.url.partition("head=")[2].partition("&")[0]
    page.get_by_role("link", name="What if it is off?").click()
    expect(page.locator(f".switches [data-name='{head}']")).to_have_attribute("aria-pressed", "true")


def test_a_pair_of_waves_is_chosen_by_keys_and_the_link_keeps_it(page, address, elsewhere):
    page.goto(f"{address}/positions?positions=waves")
    thumb = page.get_by_role("slider", name="Pair of dimensions i")
    expect(thumb).to_be_visible()
    wait_until_idle(page)
    thumb.press("ArrowRight")
    page.wait_for_url("**pair=5**")
    expect(elsewhere(page.url).get_by_role("slider", name="Pair of dimensions i")).to_have_value(thumb.input_value())
