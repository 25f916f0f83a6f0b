"""Beam search and sampling in the live model in one file: the app's tree, its steps, and draws with a seed."""

import pytest
from playwright.sync_api import Page, expect
from support.browser import expect_accessible, show
from support.traces import CHECKPOINTS, rounded_translator

from headlight.views.live.content import live_file
from transformer import Translator
from transformer.checkpoint import load_checkpoint
from transformer.decoding.beam import Beam, search_tree

NAME, SENTENCE = "en-de", "He bought a ticket at the train station."


@pytest.fixture(scope="module")
def file() -> str:
    return live_file(load_checkpoint(CHECKPOINTS / NAME), NAME, text=SENTENCE)


@pytest.fixture(scope="module")
def rounded() -> Translator:
    """The same model in PyTorch, with the weights that the page has."""
    return rounded_translator(NAME)


@pytest.fixture
def decoding(open_alone, file):
    def decoding(*screen: object, **said: str) -> Page:
        page = open_alone(file, *screen)
        show(page, "decoding", **said)
        return page

    return decoding


def test_a_search_is_a_tree_that_goes_on_from_a_branch(decoding, rounded):
    page = decoding()
    page.get_by_role("combobox", name="Decoding").select_option("beam")
    page.get_by_role("combobox", name="View").select_option("beam search")
    record = rounded.beam_search(SENTENCE, Beam())
    branches, buttons = search_tree(record), page.locator(".stage button")
    expect(buttons).to_have_count(len(branches))
    assert page.url.endswith("#decoding?decoding=beam&decoding_view=beam+search")
    told = page.locator("[data-view=decoding] .finding:visible")
    expect(told).to_contain_text(f"Of {len(branches)} branches")
    best = page.locator(".found_so strong")
    expect(best).to_have_text(rounded.tokenizer.decode(list(record.ended[0].ids)))
    page.get_by_label("Beam size").fill("2")
    page.get_by_label("Beam size").press("Enter")
    narrow = search_tree(rounded.beam_search(SENTENCE, Beam(2)))
    expect(buttons).to_have_count(len(narrow))
    number = next(at for at in range(len(narrow)) if "best" not in (buttons.nth(at).get_attribute("class") or ""))
    buttons.nth(number).click()
    page.wait_for_url("**prefix=*")
    prefix = [int(each) for each in page.url.split("prefix=")[1].split("&")[0].split(".")]
    further = rounded.beam_search(SENTENCE, Beam(2), prefix=prefix)
    expect(best).to_have_text(rounded.tokenizer.decode(list(further.ended[0].ids)))
    page.get_by_role("button", name="From the start").click()
    expect(buttons).to_have_count(len(narrow))
    assert "prefix" not in page.url


def test_the_best_of_a_search_is_shown_step_by_step(decoding, rounded):
    page = decoding(decoding="beam", beam="7", alpha="1.2")
    found = rounded.trace(SENTENCE, strategy=Beam(7, 1.2))
    expect(page.locator(".found_so")).to_have_text(f"Beam search finds: {found.target_text}")
    expect(page.locator(".place")).to_contain_text(f"Step 1 of {len(found.target_ids)}")
    expect(page.locator(".beam_tree")).to_be_hidden()


def test_a_seed_draws_the_same_again_and_another_something_else(decoding):
    asked = {"temperature": 1.8, "topK": 20}
    page = decoding(decoding="sampling", temperature="1.8", topk="20", seed="3")
    drawn = "([text, sampling]) => headlight.ready.then(() => headlight.translate(text, { sampling }))"
    third, fourth = (page.evaluate(drawn, [SENTENCE, {**asked, "seed": seed}]) for seed in (3, 4))
    assert third != fourth
    expect(page.locator(".found_so strong")).to_have_text(third)
    expect(page.locator("[data-view=decoding] .findings")).to_contain_text("the app, whose numbers are PyTorch's")
    page.get_by_label("Seed").fill("4")
    page.get_by_label("Seed").press("Enter")
    expect(page.locator(".found_so strong")).to_have_text(fourth)
    page.reload()
    expect(page.locator(".found_so strong")).to_have_text(fourth)


@pytest.mark.parametrize("way", ["<b>", "beam", "sampling"])
def test_an_address_that_makes_no_sense_falls_back(decoding, way):
    page = decoding(decoding=way, beam="99", alpha="x", topk="1.5", seed="0")
    expect(page.locator(".place")).to_contain_text("Step 1 of")
    for name, usual in (("beam", "4"), ("alpha", "0.6"), ("topk", "0"), ("seed", "1")):
        expect(page.locator(f".ways [name={name}]")).to_have_value(usual)


@pytest.mark.parametrize("scheme, width", [("dark", 390), ("light", 1366)])
def test_it_shuts_no_one_out(decoding, scheme, width):
    for said in ({"decoding": "beam", "decoding_view": "beam search"}, {"decoding": "sampling"}):
        expect_accessible(decoding(scheme, width, **said))
