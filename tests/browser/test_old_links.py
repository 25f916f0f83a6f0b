"""Links from before a view had its name: they open what they opened, and the Back button leads to it again."""

import re

from playwright.sync_api import Page, expect
from support.rest import at_rest_for_good

OLD = "/architecture?architecture=one%20token%27s%20walk&token=3"


def chosen_view(page: Page):
    return page.locator(".st-key-architecture [aria-checked=true], .st-key-architecture [aria-pressed=true]")


def test_an_old_name_of_a_view_opens_it_and_the_address_has_the_new_one(page, address):
    page.goto(address + OLD)
    # This may be a server's very first visit, which also reads PyTorch.
    expect(chosen_view(page)).to_have_text("trajectory", timeout=90_000)
    expect(page).to_have_url(re.compile(r"architecture=trajectory&token=3"))
    page.locator(".st-key-architecture").get_by_text("embeddings").click()
    expect(page).to_have_url(re.compile("architecture=embeddings"))
    at_rest_for_good(page)
    page.go_back()
    expect(chosen_view(page)).to_have_text("trajectory")
    expect(page.locator("[data-testid=stException]")).to_have_count(0)
