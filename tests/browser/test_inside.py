"""Inside: the steps of a head are read by mouse and keys, the small example is edited, and a block is chosen."""

import re
from urllib.parse import quote

from playwright.sync_api import Locator, Page, expect
from support.browser import wait_for_keys, wait_until_idle


def open_inside(page: Page, address: str, **query: str) -> None:
    """Open the page at an address, with all steps below one another unless it names one."""
    query = {"at_step": "all", **query}
    page.goto(f"{address}/inside?" + "&".join(f"{name}={quote(value)}" for name, value in query.items()))
    expect(page.locator("li.step:not([hidden]) canvas").first).to_be_visible()
    wait_for_keys(page)
    expect(page.locator(".steps[data-drawn]")).to_be_attached()  # steps out of sight are drawn one by one


def hand(page: Page, step: str) -> Locator:
    """Return the sum that a step writes out."""
    return page.locator(f"li.step.{step} .hand")


def shown(page: Page) -> Locator:
    return page.locator("li.step:not([hidden]) h3")


def test_one_step_at_a_time_by_buttons_and_arrow_keys_and_the_link_keeps_it(page, address, elsewhere):
    open_inside(page, address, inside="step by step")
    rail = page.get_by_role("navigation", name="Steps of the block")
    rail.get_by_role("button", name="Input X").click()
    expect(shown(page)).to_have_text(["1Input X"])
    expect(rail.get_by_role("button", name="Step before")).to_be_disabled()
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    softmax = "7Softmax: scores become weights"
    expect(shown(page)).to_have_text([softmax])
    page.wait_for_url("**at_step=softmax**")
    page.locator("li.step.softmax .panels.own canvas").press("ArrowLeft")
    assert shown(page).all_text_contents() == [softmax], "in a matrix the arrows move from cell to cell"
    expect(elsewhere(page.url).locator("li.step:not([hidden]) h3")).to_have_text(softmax)
    rail.get_by_role("button", name="all", exact=True).click()
    expect(shown(page)).to_have_count(12)
    page.wait_for_url("**at_step=all**")


def test_a_cell_is_pointed_at_clicked_and_chosen_by_keys_and_the_link_keeps_it(page, address, elsewhere):
    open_inside(page, address, head="encoder.1.1", query="3", key="2")
    before = hand(page, "products").text_content()
    canvas = page.locator("li.step.products .panels.own canvas")
    box = canvas.bounding_box()
    corner = {"x": box["width"] - 20, "y": box["height"] - 15}
    canvas.hover(position=corner)
    expect(hand(page, "products")).to_contain_text("“⟨end⟩” reading “⟨end⟩”:")
    page.mouse.move(5, 5)
    expect(hand(page, "products")).to_have_text(before)
    canvas.click(position=corner)
    expect(page.locator(".queries button[aria-pressed=true]")).to_have_text("⟨end⟩")
    expect(hand(page, "scale")).to_contain_text("“⟨end⟩” reading “⟨end⟩”:")
    page.wait_for_url(re.compile(r"query=6.*key=6|key=6.*query=6"))
    expect(elsewhere(page.url).locator(".keys button[aria-pressed=true]")).to_have_text("⟨end⟩")
    page.get_by_role("group", name="Query").get_by_role("button", name="teacher").click()
    canvas.press("ArrowLeft")
    expect(hand(page, "products")).to_contain_text("“teacher” reading “.”:")
    canvas.press("Enter")
    expect(page.locator(".keys button[aria-pressed=true]")).to_have_text(".")


def test_the_small_example_is_masked_by_a_click_and_changed_in_its_table(page, address, elsewhere):
    open_inside(page, address, inside="small example")
    table = page.locator(".st-key-toy_editor")
    first = table.get_by_test_id("glide-cell-1-0")
    expect(first).to_have_text("-0.9")
    table.locator(".dvn-scroller").click(position={"x": 90, "y": 52})  # right of the names, below the head
    expect(first).to_be_focused()
    page.keyboard.press("Enter")
    page.locator("#portal input").fill("2.5")
    page.keyboard.press("Enter")
    expect(hand(page, "input")).to_contain_text("2.5000")
    expect(page.locator("li.step.input .own figcaption").first).to_contain_text("1 changed")
    expect(page.locator("li.step.values .own figcaption").first).to_contain_text("changed")
    page.get_by_role("button", name="Back to the numbers of the seed").click()
    expect(hand(page, "input")).to_contain_text("−0.9000")
    wait_until_idle(page)
    canvas = page.locator("li.step.mask .panels.own canvas")
    box = canvas.bounding_box()
    canvas.click(position={"x": box["width"] - 35, "y": box["height"] - 15})
    expect(hand(page, "softmax")).to_contain_text("exp(−∞) = 0")
    page.wait_for_url(re.compile(r"toy_flipped=0{8}1"))
    expect(elsewhere(page.url).locator("li.step.mask .finding")).to_contain_text("1 of 9")


def test_the_whole_pass_plays_is_held_and_leads_to_a_head(page, address, elsewhere):
    page.goto(f"{address}/inside")
    play, station = page.locator(".play span"), page.locator(".whole_pass .place")
    play.click()
    expect(play).to_have_text("Pause")
    page.locator(".whole_pass .slider").fill("3")
    expect(play).to_have_text("Play")
    expect(station).to_have_text("Encoder layer 1 of 3: attention")
    page.wait_for_url("**moment=4**")
    other = elsewhere(page.url)
    expect(other.locator(".whole_pass .place")).to_have_text("Encoder layer 1 of 3: attention")
    page.keyboard.press("ArrowRight")
    expect(station).to_have_text("Encoder layer 1 of 3: feed-forward")
    page.keyboard.press("ArrowLeft")
    wait_until_idle(page)
    head = page.get_by_role("button", name="Encoder layer 1, self-attention, head 3 of 8")
    head.hover()
    expect(page.locator(".whole_pass .readout")).to_contain_text("head 3 of 8: 6 × 6 weights")
    head.click()
    page.wait_for_url(re.compile(r"(?=.*head=encoder\.1\.3)(?=.*inside=step)"))
    expect(page.locator("li.step.softmax")).to_be_visible()
