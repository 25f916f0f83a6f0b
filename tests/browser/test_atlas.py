"""Atlas and the view of one head by mouse, keys and address, and alone on a page."""

import re

import pytest
from playwright.sync_api import Page, expect
from support.browser import expect_accessible, go_back, wait_for_keys, wait_until_idle

from headlight.app import results
from headlight.views.attention.one_head_content import head_page, head_payload
from headlight.views.research.atlas_content import summaries_of_atlas
from transformer import Translator
from transformer.model.head_ref import HeadRef

QUERY = "checkpoint=reverse&text=abc+xyz"
HEADLINE, READOUT = ".head_card .headline", ".head_finder .readout"


@pytest.fixture(scope="module")
def headlines() -> dict[str, str]:
    """Return the shipped atlas's headline of every head, by its address."""
    atlas = results.atlas(results.checkpoint("reverse"))
    return {each.heads.address: each.role.headline for each in summaries_of_atlas(atlas, None)}


def open_atlas(page: Page, address: str, more: str = "") -> None:
    page.goto(f"{address}/research?{QUERY}{more}")
    expect(page.locator(READOUT)).not_to_be_empty()
    wait_for_keys(page)


def open_head(page: Page, address: str, more: str = "") -> None:
    page.goto(f"{address}/attention?attention=one+head&{QUERY}{more}")
    expect(page.locator(HEADLINE)).not_to_be_empty()
    wait_for_keys(page)


def dot(page: Page, name: str):
    return page.locator(f".plot [data-name='{name}']")


def test_a_click_on_a_dot_shows_its_head_and_back_shows_the_one_before(page, address, elsewhere, headlines):
    open_atlas(page, address, "&head=cross.2.1")
    expect(page.locator(READOUT)).to_contain_text(headlines["cross.2.1"])
    dot(page, "encoder.2.1").click()
    expect(page.locator(READOUT)).to_contain_text(headlines["encoder.2.1"])
    expect(dot(page, "encoder.2.1")).to_have_attribute("aria-pressed", "true")
    page.wait_for_url("**head=encoder.2.1**")
    other = elsewhere()
    other.goto(page.url)
    expect(other.locator(READOUT)).to_contain_text(headlines["encoder.2.1"])
    go_back(page)
    expect(page.locator(READOUT)).to_contain_text(headlines["cross.2.1"])
    expect(dot(page, "cross.2.1")).to_have_attribute("aria-pressed", "true")


def test_the_keyboard_alone_finds_a_head_and_opens_it(page, address, headlines):
    open_atlas(page, address, "&head=decoder.1.1")
    dot(page, "decoder.1.1").focus()
    page.keyboard.press("ArrowUp")
    focused = page.locator(".plot [data-name]:focus")
    name = focused.get_attribute("data-name")
    assert name != "decoder.1.1"
    expect(page.locator(READOUT)).to_have_text(focused.get_attribute("aria-label"))
    page.keyboard.press("Enter")
    kind, layer, head = name.split(".")
    page.wait_for_url(f"**head={kind}.{layer}.{head}**")
    expect(page.locator(".plot [data-name]:focus")).to_have_attribute("data-name", name)
    wait_until_idle(page)
    page.get_by_role("link", name="This head: examples and numbers").press("Enter")
    expect(page.locator(HEADLINE)).to_have_text(headlines[name])


def test_axes_stand_in_the_address_and_filters_hide_dots(page, address, elsewhere):
    open_atlas(page, address)
    page.locator(".across select").select_option("entropy")
    page.wait_for_url("**x=entropy**")
    page.locator(".filters button[data-kind=decoder]").click()
    expect(page.locator(".plot [data-name^=decoder]")).to_have_count(0)
    expect(page.locator(".plot [data-name^=encoder]").first).to_be_visible()
    other = elsewhere()
    other.goto(page.url)
    expect(other.locator(".across select")).to_have_value("entropy")


def test_examples_are_read_by_keys_and_another_group_is_chosen_and_kept(page, address):
    open_head(page, address, "&head=encoder.1.1")
    page.locator(".examples .queries button").first.focus()
    expect(page.locator(".head_card .readout")).to_contain_text("looks at")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".examples .queries button").nth(1)).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.locator(".head_card .readout")).to_contain_text("is looked at by")
    before = page.locator(".examples").inner_text()
    page.locator(".choose select").select_option("1")
    expect(page.locator(".examples")).not_to_have_text(before)
    like = page.locator(".nearest button").first
    name = like.inner_text().rpartition(" (")[0]
    like.click()
    expect(page.locator(".head_card .name")).to_have_text(re.compile(f"{name}$"))
    expect(page.locator(".choose select")).to_have_value("1")


def test_the_head_goes_along_to_the_explorer_and_what_if(page, address):
    open_head(page, address, "&head=encoder.2.3")
    page.get_by_role("link", name="What if it is off?").click()
    expect(page.locator(".switches [data-name='encoder.2.3']")).to_have_attribute("aria-pressed", "true")
    open_head(page, address, "&head=encoder.2.3")
    page.get_by_role("button", name="This head in this sentence").click()
    expect(page.locator(".heads_name")).to_have_text("Encoder self-attention: layer 2, head 3")
    wait_until_idle(page)
    page.get_by_role("button", name="This head over a corpus").click()
    expect(page.locator(".head_card .name")).to_have_text("Encoder self-attention layer 2, head 3")


def test_embedded_the_finder_stands_alone(page, address):
    open_atlas(page, address, "&embed=true")
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()
    expect(page.locator(".st-key-bar")).to_have_css("visibility", "hidden")
    expect_accessible(page)


def test_a_head_is_taken_along_as_a_page_without_a_server(open_alone, headlines):
    checkpoint = results.checkpoint("reverse")
    atlas, trace = results.atlas(checkpoint), Translator.load(checkpoint.folder, "cpu").trace("abc xyz")
    one = next(each for each in summaries_of_atlas(atlas, None) if each.heads == HeadRef("cross", 1, 0))
    page = open_alone(head_page(head_payload(one.heads, one.role, trace, atlas, None), trace, "reverse"))
    expect(page.locator(HEADLINE)).to_have_text(headlines["cross.2.1"])
    expect(page.locator(".examples .example").first).to_be_visible()
    expect(page.locator(".nearest")).to_be_hidden()
    page.locator(".choose select").select_option("3")
    expect(page.locator(".examples .what").first).to_contain_text("% sure")
    expect_accessible(page)
