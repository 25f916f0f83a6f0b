"""The tree of a beam search: pointing at a branch says what it is and reads, a click searches on from there."""

import re

from playwright.sync_api import expect
from support.browser import wait_until_idle

from headlight.plots.tokens import shown_token
from transformer import Beam

TEXT = "He bought a ticket at the train station."


def test_a_branch_says_what_it_is_and_a_click_searches_on_from_it(page, address, shipped):
    page.goto(f"{address}/decoding?decoding_view=beam+search&text={TEXT}&decoding=beam&beam=4&head=cross.3.2")
    tree = page.locator(".beam_tree .stage")
    expect(tree.locator("button.ended").first).to_be_visible()
    wait_until_idle(page)
    record = shipped.beam_search(TEXT, Beam(4))
    expect(tree.locator("button.ended")).to_have_count(len(record.ended))
    dropped = tree.locator("button.dropped").first
    dropped.hover()
    expect(page.locator(".readout")).to_contain_text("None of its continuations was kept.")
    expect(page.locator(".reads .word span")).to_have_count(len(shipped.pieces(TEXT)) + 1)
    token = dropped.inner_text()
    dropped.click()
    page.wait_for_url("**prefix=**")
    wait_until_idle(page)
    expect(page.get_by_role("button", name="From the start")).to_be_enabled()
    ids = tuple(map(int, page.url.split("prefix=")[1].split("&")[0].split(".")))
    assert shown_token(shipped.tokenizer.piece_text(ids[-1])).startswith(token[:3])
    best = shipped.beam_search(TEXT, Beam(4), prefix=ids).ended[0]
    expect(page.locator(".st-key-beam_table tbody tr").first).to_contain_text(shipped.tokenizer.decode(best.ids))
    tree.locator("button").first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".readout")).to_contain_text("step 2:")
    page.get_by_role("radio", name="step by step").click()
    expect(page.get_by_text("Left to itself, the model writes")).to_be_visible()
    page.get_by_role("radio", name="beam search").click()
    page.get_by_role("button", name="From the start").click()
    expect(page).not_to_have_url(re.compile("prefix="))
    expect(tree.locator("button.ended")).to_have_count(len(record.ended))
