"""The atlas by mouse, by keys, by address and on a phone, and alone on its page."""

import re

import pytest
from headlight.views.atlas.content import found_in_atlas
from headlight.views.atlas.head_content import head_page, head_payload
from playwright.sync_api import Page, expect
from support.access import shuts_no_one_out
from support.rest import at_rest, at_rest_and_hearing_keys, back

from headlight.app import results
from transformer import Translator
from transformer.interpret.what_if.intervention import Heads

QUERY = "checkpoint=reverse&text=abc+xyz"
NAME, HEADLINE = ".head_card .name", ".head_card .headline"


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    """What the shipped atlas says of every head, by its name in the finder."""
    atlas = results.atlas(results.checkpoint("reverse"))
    names = {
        each: f"{each.kind}.{each.layer + 1}.{each.head + 1}" for each in (x.heads for x in found_in_atlas(atlas, None))
    }
    return {names[each.heads]: each.told.headline for each in found_in_atlas(atlas, None)}


def open_atlas(page: Page, address: str, more: str = "") -> None:
    page.goto(f"{address}/atlas?{QUERY}{more}")
    expect(page.locator(HEADLINE)).not_to_be_empty()
    at_rest_and_hearing_keys(page)


def dot(page: Page, name: str):
    return page.locator(f".plot [data-name='{name}']")


def in_words(name: str) -> re.Pattern:
    kind, layer, head = name.split(".")
    return re.compile(f"^(masked )?{kind}.*layer {layer}, head {head}$", re.IGNORECASE)


def test_a_click_on_a_dot_shows_its_head_and_back_shows_the_one_before(page, address, elsewhere, said):
    open_atlas(page, address, "&kind=cross&layer=2&head=1")
    expect(page.locator(HEADLINE)).to_have_text(said["cross.2.1"])
    dot(page, "encoder.2.1").click()
    expect(page.locator(NAME)).to_have_text(in_words("encoder.2.1"))
    expect(page.locator(HEADLINE)).to_have_text(said["encoder.2.1"])
    expect(dot(page, "encoder.2.1")).to_have_attribute("aria-pressed", "true")
    page.wait_for_url("**kind=encoder&layer=2&head=1**")
    other = elsewhere()
    other.goto(page.url)
    expect(other.locator(HEADLINE)).to_have_text(said["encoder.2.1"])
    back(page)
    expect(page.locator(HEADLINE)).to_have_text(said["cross.2.1"])
    expect(dot(page, "cross.2.1")).to_have_attribute("aria-pressed", "true")


def test_the_keyboard_alone_finds_a_head_and_reads_an_example(page, address):
    open_atlas(page, address, "&kind=decoder&layer=1&head=1")
    dot(page, "decoder.1.1").focus()
    page.keyboard.press("ArrowUp")
    focused = page.locator(".plot [data-name]:focus")
    name = focused.get_attribute("data-name")
    assert name != "decoder.1.1"
    expect(page.locator(".head_finder .readout")).to_have_text(focused.get_attribute("aria-label"))
    page.keyboard.press("Enter")
    expect(page.locator(NAME)).to_have_text(in_words(name))
    expect(page.locator(".plot [data-name]:focus")).to_have_attribute("data-name", name)
    at_rest(page)
    token = page.locator(".examples .queries button").first
    token.focus()
    expect(page.locator(".head_card .readout")).to_contain_text("reads")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".examples .queries button").nth(1)).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.locator(".head_card .readout")).to_contain_text("is read by")


def test_axes_and_filters_stand_in_the_address_and_come_back_from_it(page, address, elsewhere):
    open_atlas(page, address)
    page.locator(".across select").select_option("entropy")
    page.wait_for_url("**atlas_x=entropy**")
    page.locator(".filters button[data-kind=decoder]").click()
    page.wait_for_url("**atlas_kinds=encoder.cross**")
    expect(page.locator(".plot [data-name^=decoder]")).to_have_count(0)
    other = elsewhere()
    other.goto(page.url)
    expect(other.locator(".across select")).to_have_value("entropy")
    expect(other.locator(".filters button[data-kind=decoder]")).to_have_attribute("aria-pressed", "false")
    expect(other.locator(".plot [data-name^=encoder]").first).to_be_visible()
    expect(other.locator(".plot [data-name^=decoder]")).to_have_count(0)


def test_the_list_is_sorted_by_a_column_and_chosen_from(page, address, said):
    open_atlas(page, address, "&atlas=list&kind=cross&layer=1&head=1")
    page.locator("[data-sort=confidence]").click()
    page.wait_for_url("**atlas_sort=-confidence**")
    at_rest(page)
    values = [float(text.split(" ")[0]) for text in page.locator(".list tbody td:nth-child(3)").all_inner_texts()]
    assert values == sorted(values, reverse=True) and len(values) == len(said)
    last = page.locator(".list tbody button").last
    name = last.get_attribute("data-name")
    last.focus()
    page.keyboard.press("Enter")
    expect(page.locator(HEADLINE)).to_have_text(said[name])


def test_another_group_of_examples_is_chosen_and_kept(page, address):
    open_atlas(page, address, "&kind=encoder&layer=1&head=1")
    before = page.locator(".examples").inner_text()
    page.locator(".choose select").select_option("1")
    expect(page.locator(".examples")).not_to_have_text(before)
    page.wait_for_url("**atlas_examples=1**")
    at_rest(page)
    dot(page, "encoder.2.1").click()
    expect(page.locator(NAME)).to_have_text(in_words("encoder.2.1"))
    expect(page.locator(".choose select")).to_have_value("1")


def test_the_head_goes_along_to_attention_and_what_if(page, address):
    open_atlas(page, address, "&kind=encoder&layer=2&head=3")
    page.get_by_role("link", name="What if it is off?").click()
    expect(page.locator(".switches [data-name='encoder.2.3']")).to_have_attribute("aria-pressed", "true")
    open_atlas(page, address, "&kind=encoder&layer=2&head=3")
    page.get_by_role("link", name="This head in Attention").click()
    expect(page.get_by_role("link", name="Inside this head: layer 2, head 3 step by step")).to_be_visible()


def test_embedded_the_page_stands_alone(page, address):
    open_atlas(page, address, "&embed=true")
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()
    expect(page.locator(".st-key-bar")).to_have_css("visibility", "hidden")
    dot(page, "encoder.2.1").click()
    expect(page.locator(NAME)).to_have_text(in_words("encoder.2.1"))
    page.wait_for_url("**kind=encoder&layer=2&head=1**")
    at_rest(page)
    shuts_no_one_out(page)


def test_a_head_is_taken_along_as_a_page_without_a_server(open_alone, said):
    checkpoint = results.checkpoint("reverse")
    atlas, trace = results.atlas(checkpoint), Translator.load(checkpoint.folder, "cpu").trace("abc xyz")
    one = next(each for each in found_in_atlas(atlas, None) if each.heads == Heads("cross", 1, 0))
    page = open_alone(head_page(head_payload(one.heads, one.told, trace, atlas, None), trace, "reverse"))
    expect(page.locator(HEADLINE)).to_have_text(said["cross.2.1"])
    expect(page.locator(".examples .example").first).to_be_visible()
    expect(page.locator(".nearest")).to_be_hidden()
    page.locator(".choose select").select_option("3")
    expect(page.locator(".examples .what").first).to_contain_text("confidence")
    shuts_no_one_out(page)
