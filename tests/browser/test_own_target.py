"""A translation of one's own, typed and sent: its table, the address, and the next sentence, which begins anew."""

import re

from playwright.sync_api import Page, expect
from support.browser import expect_accessible, go_back, wait_until_idle

from headlight.plots.tokens import shown_token, shown_tokens

TEXT, OWN = "I love my teacher.", "Ich mag meine Lehrerin."


def tokens(page: Page):
    return page.locator(".translations tr").first.locator("td.token")


def test_a_translation_is_typed_and_the_link_keeps_it_until_the_next_sentence(page, address, elsewhere, shipped):
    page.goto(f"{address}/what_if?what_if=your+translation&text={TEXT}")
    field = page.get_by_label("Your translation", exact=True)
    expect(tokens(page).first).to_be_visible()
    wait_until_idle(page)
    expect_accessible(page)
    field.fill(OWN)
    field.press("Enter")
    expect(tokens(page)).to_have_text(shown_tokens(shipped.trace(TEXT, target=OWN).target_tokens))
    page.wait_for_url("**own_target=Ich**")
    other = elsewhere()
    other.goto(page.url)
    expect(other.get_by_label("Your translation", exact=True)).to_have_value(OWN)
    expect(tokens(other)).to_have_count(tokens(page).count())
    sentence = page.get_by_role("textbox", name="Sentence to translate")
    sentence.fill("She reads a book.")
    sentence.press("Enter")
    expect(field).not_to_have_value(OWN)
    expect(tokens(page).first).to_have_text("Sie")
    expect(page).not_to_have_url(re.compile("own_target"))


def test_the_keys_move_the_token_that_is_asked_about_and_the_address_follows(page, address, shipped):
    page.goto(f"{address}/research?research=contrast&text={TEXT}&step=2")
    following = shipped.trace(TEXT).target_tokens
    asked = page.get_by_test_id("stMain").get_by_text("Teal bars").locator("strong").first
    expect(asked).to_have_text(f"“{shown_token(following[1])}”")
    wait_until_idle(page)
    page.get_by_role("slider", name="Output token").focus()
    page.keyboard.press("ArrowLeft")
    expect(asked).to_have_text(f"“{shown_token(following[0])}”")
    page.wait_for_url("**step=1**")
    go_back(page)
    expect(asked).to_have_text(f"“{shown_token(following[1])}”")
