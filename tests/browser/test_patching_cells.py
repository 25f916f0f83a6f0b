"""Patching another cell by keys, another site, and two sentences of one's own; all of it in the address."""

import pytest
from playwright.sync_api import Page, expect
from support.browser import expect_accessible, go_back, wait_until_idle

from headlight.plots.tokens import shown_token
from transformer.interpret.what_if.patching import Cell, patched_predictions, question_of

CLEAN, CORRUPTED = "I see the dog.", "I see the cat."


@pytest.fixture(scope="module")
def best_after(shipped):
    """The token that the corrupted run of the own sentences has next with one cell of the encoder stream patched."""
    question = question_of(*(shipped.trace(text) for text in (CLEAN, CORRUPTED)))

    def best(row: int, column: int) -> str:
        cell = Cell("residual", "encoder", row - 1, column - 1)
        seen = patched_predictions(shipped.model, question, [cell], 1)
        return shipped.tokenizer.piece_text(int(seen.best_ids[2, 0]))

    return best


def patched_token(page: Page):
    return page.locator(".places tr", has_text="patched").locator("td").first


def test_the_cell_goes_with_the_keys_and_the_link_keeps_pair_site_and_cell(page, address, elsewhere):
    page.goto(f"{address}/research?research=patching")
    expect(page.get_by_text("after layer 3 from the clean run")).to_be_visible()
    wait_until_idle(page)
    page.get_by_role("slider", name="Layer").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_text("after layer 2 from the clean run")).to_be_visible()
    page.wait_for_url("**patched_row=3**")
    go_back(page)
    expect(page.get_by_text("after layer 3 from the clean run")).to_be_visible()
    wait_until_idle(page)
    page.go_forward()
    expect(page.get_by_text("after layer 2 from the clean run")).to_be_visible()
    wait_until_idle(page)
    page.get_by_role("radio", name="gender").click()
    expect(page.get_by_text("“father | mother” after layer 2 from the clean run")).to_be_visible()
    page.wait_for_url("**minimal_pair=gender**")
    other = elsewhere()
    other.goto(page.url)
    expect(other.get_by_text("“father | mother” after layer 2 from the clean run")).to_be_visible()


def test_two_sentences_of_ones_own_are_patched_and_unequal_ones_shown_by_token(page, address, best_after):
    page.goto(f"{address}/research?research=patching&minimal_pair=your+own&patched_row=1&patched_column=2")
    expect(page.get_by_text("First sentence, the clean run")).to_be_visible()
    wait_until_idle(page)
    for label, name, text in (("First sentence", "Clean", CLEAN), ("Second sentence", "Corrupted", CORRUPTED)):
        page.get_by_label(label).fill(text)
        page.get_by_label(label).press("Enter")
        expect(page.get_by_text(f"{name}: {text} →")).to_be_visible()
        wait_until_idle(page)
    expect(page.get_by_text("“see” before layer 1 from the clean run")).to_be_visible()
    expect(patched_token(page)).to_contain_text(shown_token(best_after(1, 2)))
    page.get_by_role("slider", name="Position").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("“the” before layer 1 from the clean run")).to_be_visible()
    wait_until_idle(page)
    page.get_by_role("slider", name="Position").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("“dog | cat” before layer 1 from the clean run")).to_be_visible()
    expect(patched_token(page)).to_contain_text(shown_token(best_after(1, 4)))
    assert best_after(1, 2) != best_after(1, 4)
    page.get_by_label("Second sentence").fill("I see the old cat.")
    page.get_by_label("Second sentence").press("Enter")
    expect(page.get_by_text("The sentences have 6 and 7 tokens")).to_be_visible()
    expect(page.locator("ol.chips")).to_have_count(2)
    wait_until_idle(page)
    expect_accessible(page)
