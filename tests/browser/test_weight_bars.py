"""Attention rewritten by hand: a token forbidden by a click, a bar moved by keys, the translation anew each time."""

from playwright.sync_api import Page, expect
from support.rest import at_rest

TEXT = "I think that he has never read this book."


def bar(page: Page, number: int):
    return page.locator(".weight_bars input").nth(number - 1)


def changed(page: Page):
    return page.get_by_test_id("stMain").get_by_text("With these weights:").locator("strong")


def test_a_token_that_is_clicked_is_hidden_and_a_bar_that_is_moved_is_a_change_by_hand(page, address, shipped):
    trace = shipped.trace(TEXT)
    number = trace.source_tokens.index("▁book") + 1
    page.goto(f"{address}/what_if?what_if=rewrite+attention&text={TEXT}&kind=cross&layer=3&head=4&rewrite_key=1")
    expect(changed(page)).to_be_visible()
    at_rest(page)
    page.locator(".weight_bars button").nth(number - 1).click()
    hidden = shipped.translate([TEXT], interventions=[f"forbid:cross.*.*:{number - 1}"])[0]
    expect(changed(page)).to_have_text(hidden)
    assert "Buch" in trace.target_text and "Buch" not in hidden
    page.wait_for_url(f"**rewrite_key={number}")
    at_rest(page)
    bar(page, number).focus()
    page.keyboard.press("End")
    expect(page.locator(".weight_bars .number").nth(number - 1)).to_have_text("1.00")
    page.wait_for_url("**rewrite=by+hand**")
    weights = ",".join("1" if token == "▁book" else "0" for token in trace.source_tokens)
    expect(changed(page)).to_have_text(shipped.translate([TEXT], interventions=[f"given:cross.*.*:{weights}"])[0])


def test_an_address_restores_weights_that_were_drawn(page, address, shipped):
    trace = shipped.trace(TEXT)
    weights = ["0"] * len(trace.source_tokens)
    weights[3] = weights[5] = "0.5"
    page.goto(
        f"{address}/what_if?what_if=rewrite+attention&text={TEXT}&rewrite=by+hand&rewrite_rows=this+row+alone&rewrite_row=4"
        f"&rewrite_weights={'-'.join(weights)}"
    )
    expect(page.locator(".weight_bars .number").nth(3)).to_have_text("0.50")
    asked = [f"given:cross.*.*:{','.join(weights)}@3"]
    expect(changed(page)).to_have_text(shipped.translate([TEXT], interventions=asked)[0])
