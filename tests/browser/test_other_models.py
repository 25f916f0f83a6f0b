"""What a person does with a model of another library: chooses it and a language, reads a weight, looks further."""

import pytest
import torch
from playwright.sync_api import Page, expect
from support.browser import wait_until_idle
from support.families import write_family
from support.marian import write_model
from support.server import serve
from support.traces import step_names

from headlight.plots.numbers import percent
from headlight.plots.tokens import shown_token
from transformer import Translator
from transformer.checkpoint import save_checkpoint
from transformer.exchange.importing import import_checkpoint

# The model, the target language that is chosen, and a head: its layer and its number, from 1.
CHOSEN = [("opus", "gos", (2, 3)), ("bart-cnn", "", (1, 4)), ("nllb", "jpn_Jpan", (2, 1))]
ERRORS = "[data-testid=stException], [data-testid=stAlertContentError]"
TEXT = "red dog"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three imported checkpoints with random weights: like opus-mt with two languages, like BART, like NLLB."""
    made, folder = tmp_path_factory.mktemp("models"), tmp_path_factory.mktemp("checkpoints")
    for name, *_ in CHOSEN:
        (made / name).mkdir()
        if name == "opus":
            write_model(made / name, activation_function="swish", scale_embedding=False)
        else:
            write_family(made / name, name)
        save_checkpoint(folder / name, import_checkpoint(made / name), torch.float32)
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


def test_a_model_is_chosen_with_its_language_a_weight_is_read_and_the_other_pages_open(page, address, folder):
    # A deep link is the first thing that this server sees.
    page.goto(f"{address}/attention?head=cross.1.1&text={TEXT.replace(' ', '+')}")
    expect(page.get_by_role("heading", name="Attention", exact=True)).to_be_visible()
    expect(page.get_by_text("To write each word, the model looks at the source")).to_be_visible()
    for name, language, (layer, head) in CHOSEN:
        go(page, "Attention")
        choose(page, "Checkpoint", name)
        if language:
            choose(page, "Target language", language)
        trace = Translator.load(folder / name, "cpu").trace(TEXT, target_language=language or None)
        names = step_names(trace)  # of many rows not every one has room for its name
        expect(page.locator(".query_tokens button")).to_have_count(len(names))
        expect(page.locator(".query_tokens button").first).to_have_text(names[0])
        page.get_by_text("Table of the heads").click()
        page.get_by_role("button", name=f"layer {layer}, head {head}", exact=True).click()
        expect(page.locator(".heads_name")).to_have_text(f"Cross-attention: layer {layer}, head {head}")
        page.locator(".query_tokens button").nth(1).hover()
        largest = f": {percent(trace.cross[layer - 1, head - 1, 1].max())}."
        expect(page.locator(".readout")).to_contain_text(largest)
        go(page, "Decoding")
        hardest = trace.num_forced + int(trace.entropies[trace.num_forced :].argmax())
        place = f"Step {hardest + 1} of {len(trace.target_ids)}: {step_names(trace)[hardest]}"
        expect(page.locator(".place")).to_have_text(place)
        expect(page.locator("td.piece button").first).to_have_text(shown_token(trace.candidate_tokens[hardest][0]))
        go(page, "Inside")
        expect(page.locator("li.step:not([hidden]) canvas").first).to_be_visible()
        expect(page.locator(ERRORS)).to_have_count(0)
