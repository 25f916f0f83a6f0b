"""Models of other libraries in the app: chosen with a language, T5's bias by distance, and a text of 500 tokens."""

import re

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, expect
from support.browser import go_back, wait_until_idle
from support.families import write_family
from support.marian import write_model
from support.server import serve
from support.t5 import HALF, write_summarizer
from support.t5 import NAME as SUMMARIZER
from support.traces import step_names

from headlight.plots.numbers import percent
from headlight.plots.tokens import shown_token
from transformer import Translator
from transformer.checkpoint import save_checkpoint
from transformer.exchange.importing import import_checkpoint

# The model, its target language, and a head: layer and number, from 1.
CHOSEN = [("opus", "gos", (2, 3)), ("nllb", "jpn_Jpan", (2, 1))]
ERRORS = "[data-testid=stException], [data-testid=stAlertContentError]"
TEXT, WHOLE_TEXT = "red dog", "instruction=nothing+before+the+text"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Imported checkpoints with random weights: like opus-mt, NLLB and a summarizer of long texts."""
    made, folder = tmp_path_factory.mktemp("models"), tmp_path_factory.mktemp("checkpoints")
    for name in ("opus", "nllb", SUMMARIZER):
        (made / name).mkdir()
    write_model(made / "opus", activation_function="swish", scale_embedding=False)
    write_family(made / "nllb", "nllb")
    for name in ("opus", "nllb"):
        save_checkpoint(folder / name, import_checkpoint(made / name), torch.float32)
    write_summarizer(made / SUMMARIZER, folder)
    return folder


@pytest.fixture(scope="module")
def address(folder):
    """A server of their own."""
    with serve(HEADLIGHT_CHECKPOINTS=str(folder)) as address:
        yield address


def choose(page: Page, field: str, option: str) -> None:
    page.get_by_role("combobox", name=field).click()
    page.get_by_role("option", name=option, exact=True).click()
    wait_until_idle(page)


def go(page: Page, name: str) -> None:
    page.get_by_role("link", name=name, exact=True).click()
    expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()
    wait_until_idle(page)


def test_a_model_is_chosen_with_its_language_and_a_weight_is_read(page, address, folder):
    for name, language, (layer, head) in CHOSEN:
        page.goto(f"{address}/attention?checkpoint={name}&head=cross.1.1&text={TEXT.replace(' ', '+')}")
        expect(page.locator(".readout")).not_to_be_empty()
        wait_until_idle(page)
        choose(page, "Target language", language)
        trace = Translator.load(folder / name, "cpu").trace(TEXT, target_language=language)
        expect(page.locator(".query_tokens button")).to_have_count(len(trace.target_ids))
        page.get_by_text("The heads as a table").click()
        page.get_by_role("button", name=f"layer {layer}, head {head}", exact=True).click()
        page.locator(".query_tokens button").nth(1).hover()
        largest = f": {percent(trace.cross[layer - 1, head - 1, 1].max())}."
        expect(page.locator(".readout")).to_contain_text(largest)
        go(page, "Decoding")
        hardest = trace.num_forced + int(trace.entropies[trace.num_forced :].argmax())
        expect(page.locator(".place")).to_contain_text(f"{hardest + 1} of {len(trace.target_ids)}")
        expect(page.locator(".place")).to_contain_text(step_names(trace)[hardest])
        expect(page.locator("td.piece button").first).to_have_text(shown_token(trace.candidate_tokens[hardest][0]))
        expect(page.locator(ERRORS)).to_have_count(0)


def test_the_map_of_a_long_text_comes_when_its_head_is_chosen(page, address, folder):
    trace = Translator.load(folder / SUMMARIZER).trace(HALF)

    def expect_map(name: str, weights: np.ndarray) -> None:
        expect(page.locator(".heads_name")).to_have_text(name)
        expect(page.locator(".main.waiting")).to_have_count(0)
        largest = percent(np.rint(weights.max() * 50_000) / 50_000)
        expect(page.locator(".readout")).to_contain_text(f": {largest}.")

    query = f"checkpoint={SUMMARIZER}&text={HALF.replace(' ', '+')}&{WHOLE_TEXT}"
    page.goto(f"{address}/attention?{query}&head=cross.1.1")
    expect_map("Cross-attention: layer 1, head 1", trace.cross[0, 0])
    heads = page.locator(".overview canvas")
    heads.press("ArrowRight")
    heads.press("Enter")
    expect_map("Cross-attention: layer 1, head 2", trace.cross[0, 1])
    expect(page).to_have_url(re.compile("head=cross.1.2"))
    heads.press("ArrowRight")
    heads.press("Shift+Enter")
    expect_map("Cross-attention: mean of 2 heads", trace.cross[0, 1:3].mean(axis=0, dtype=np.float64))
    go_back(page)
    expect_map("Cross-attention: layer 1, head 2", trace.cross[0, 1])
    page.goto(f"{address}/decoding?{query}")
    page.locator(".heads summary").click()
    expect(page.locator(".without_heads")).to_be_visible()
    expect(page.locator(".source .chip")).to_have_count(len(trace.source_ids))
