"""What a person does with a text too long for all its weights: chooses heads, whose maps then come, and steps on."""

import re

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from support.browser import go_back
from support.server import serve
from support.t5 import HALF, NAME, write_summarizer

from headlight.plots.numbers import percent
from transformer import Translator

TASK = "instruction=nothing+before+the+text"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the checkpoint."""
    folder = tmp_path_factory.mktemp("checkpoints")
    write_summarizer(tmp_path_factory.mktemp("model"), folder)
    return folder


@pytest.fixture(scope="module")
def address(folder):
    """A server of its own."""
    with serve(HEADLIGHT_CHECKPOINTS=str(folder)) as address:
        yield address


@pytest.fixture(scope="module")
def trace(folder):
    return Translator.load(folder / NAME).trace(HALF)


def expect_map(page: Page, title: str, weights: np.ndarray, digits: int) -> None:
    """The map has this title, and the largest of its weights stands beside it."""
    expect(page.locator(".heads_name")).to_have_text(title)
    expect(page.locator(".main.waiting")).to_have_count(0)
    largest = f": {percent(np.rint(weights.max() * 50_000) / 50_000)}."
    expect(page.locator(".readout")).to_contain_text(largest)


def test_the_map_of_a_head_comes_when_it_is_chosen(page, address, trace):
    page.goto(f"{address}/attention?text={HALF.replace(' ', '+')}&{TASK}&head=cross.1.1")
    expect_map(page, "Cross-attention: layer 1, head 1", trace.cross[0, 0], 4)
    expect(page.get_by_text("every head is drawn small")).to_be_visible()
    expect(page.get_by_role("button", name="Download as a page")).to_have_count(0)

    heads = page.locator(".overview canvas")
    heads.focus()
    heads.press("ArrowRight")
    expect(page.locator(".readout")).to_contain_text("Cross-attention, layer 1, head 2")
    heads.press("Enter")
    expect_map(page, "Cross-attention: layer 1, head 2", trace.cross[0, 1], 4)
    expect(page).to_have_url(re.compile("head=cross.1.2"))

    heads.press("ArrowRight")
    heads.press("Shift+Enter")
    cross = trace.cross[0, 1:3].mean(axis=0, dtype=np.float64)
    expect_map(page, "Cross-attention: mean of 2 heads", cross, 3)
    page.get_by_role("button", name="encoder", exact=True).click()
    mean = trace.encoder[0, 1:3].mean(axis=0, dtype=np.float64)
    expect_map(page, "Encoder self-attention: mean of 2 heads", mean, 3)
    go_back(page)
    expect_map(page, "Cross-attention: mean of 2 heads", cross, 3)
    go_back(page)
    expect_map(page, "Cross-attention: layer 1, head 2", trace.cross[0, 1], 4)


def test_the_player_says_why_it_has_no_line_for_every_head(page, address, trace):
    page.goto(f"{address}/decoding?text={HALF.replace(' ', '+')}&{TASK}")
    expect(page.get_by_text("only the chosen head has its weights here")).to_be_visible()
    expect(page.locator(".strips")).to_be_hidden()
    expect(page.locator(".source .chip")).to_have_count(len(trace.source_ids))
    page.locator("button.forward").click()
    expect(page.locator(".place")).to_contain_text("Step 2 of")
