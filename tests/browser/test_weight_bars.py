"""Attention rewritten by hand: a token forbidden by a click, a bar moved by keys, the translation anew each time."""

from playwright.sync_api import Page, expect
from support.browser import mount, send_data, wait_until_idle

TEXT = "I think that he has never read this book."


def bar(page: Page, number: int):
    return page.locator(".weight_bars input").nth(number - 1)


def changed(page: Page):
    return page.locator(".translations .line strong")


def test_a_token_that_is_clicked_is_hidden_and_a_bar_that_is_moved_is_a_change_by_hand(page, address, shipped):
    trace = shipped.trace(TEXT)
    number = trace.source_tokens.index("▁book") + 1
    page.goto(f"{address}/what_if?what_if=rewrite+attention&text={TEXT}&head=cross.3.4&rewrite_key=1")
    expect(changed(page)).to_be_visible()
    wait_until_idle(page)
    page.locator(".weight_bars button").nth(number - 1).click()
    hidden = shipped.translate([TEXT], interventions=[f"forbid:cross.*.*:{number - 1}"])[0]
    expect(changed(page)).to_have_text(hidden)
    assert "Buch" in trace.target_text and "Buch" not in hidden
    page.wait_for_url(f"**rewrite_key={number}")
    wait_until_idle(page)
    bar(page, number).focus()
    page.keyboard.press("End")
    expect(page.locator(".weight_bars .number").nth(number - 1)).to_have_text("100 %")
    page.wait_for_url("**rewrite=by+hand**")
    weights = ",".join("1" if token == "▁book" else "0" for token in trace.source_tokens)
    expect(changed(page)).to_have_text(shipped.translate([TEXT], interventions=[f"given:cross.*.*:{weights}"])[0])


def test_an_address_restores_weights_that_were_drawn(page, address, shipped):
    trace = shipped.trace(TEXT)
    weights = ["0"] * len(trace.source_tokens)
    weights[3] = weights[5] = "0.5"
    page.goto(
        f"{address}/what_if?what_if=rewrite+attention&text={TEXT}&rewrite=by+hand&rewrite_rows=this+row&rewrite_row=4"
        f"&rewrite_weights={'-'.join(weights)}"
    )
    expect(page.locator(".weight_bars .number").nth(3)).to_have_text("50 %")
    asked = [f"given:cross.*.*:{','.join(weights)}@3"]
    expect(changed(page)).to_have_text(shipped.translate([TEXT], interventions=asked)[0])


def drag(page: Page, number: int, weight: float) -> None:
    """A bar drawn to a weight, the mouse still down."""
    bar(page, number).evaluate("(e, weight) => { e.value = weight; e.dispatchEvent(new Event('input')); }", weight)


def test_the_answer_to_one_drag_does_not_undo_the_next(page):
    row = {"kind": "cross", "row": 0, "row_token": "x"}
    data = {**row, "tokens": ["a", "b"], "before": [0.5, 0.5], "after": [0.5, 0.5], "key": 0}
    mount(page, "weight_bars/bars", data)
    drag(page, 1, 0.8)
    bar(page, 1).dispatch_event("change")
    page.wait_for_function("window.told.length === 1")
    drag(page, 2, 0.6)
    numbers = page.locator(".weight_bars .number")
    send_data(page, {**data, "after": [0.8, 0.2]})
    expect(numbers).to_have_text(["40 %", "60 %"])
    bar(page, 2).dispatch_event("change")
    page.wait_for_function("window.told.length === 2")
    assert page.evaluate("window.told") == [["weights", "0.8-0.2"], ["weights", "0.4-0.6"]]
    send_data(page, {**data, "after": [0.3, 0.7]})  # as it is written in the address, and decides
    expect(numbers).to_have_text(["30 %", "70 %"])
    drag(page, 1, 0.9)
    bar(page, 1).dispatch_event("pointerup")  # without a change
    page.wait_for_function("window.told.length === 3")
    send_data(page, {**data, "after": [0.6, 0.4]})
    expect(numbers).to_have_text(["60 %", "40 %"])
    drag(page, 1, 0.9)
    send_data(page, {**data, "row": 1, "after": [0.5, 0.5]})  # of another row
    expect(numbers).to_have_text(["50 %", "50 %"])
