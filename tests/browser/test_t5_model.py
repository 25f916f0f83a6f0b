"""What a person does with a model of T5's family: sees its bias by distance, reads it in a sum, finds it drawn."""

import pytest
import torch
from playwright.sync_api import expect
from support.browser import wait_until_idle
from support.pages import check_headline
from support.server import serve
from support.t5 import write_t5

from transformer import Translator
from transformer.checkpoint import save_checkpoint
from transformer.exchange.importing import import_checkpoint

NAME, TEXT = "byt5", "red dog"
ERRORS = "[data-testid=stException], [data-testid=stAlertContentError]"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of checkpoints with one that is like ByT5, of random weights."""
    made, folder = tmp_path_factory.mktemp("model"), tmp_path_factory.mktemp("checkpoints")
    write_t5(made, NAME)
    save_checkpoint(folder / NAME, import_checkpoint(made), torch.float32)
    return folder


@pytest.fixture(scope="module")
def address(folder):
    """A server of its own."""
    with serve(HEADLIGHT_CHECKPOINTS=str(folder)) as address:
        yield address


def test_the_bias_by_distance_is_found_over_distance_in_a_sum_and_in_the_diagram(page, address, folder):
    own = Translator.load(folder / NAME)
    length = len(own.trace(TEXT).source_ids)
    with torch.inference_mode():
        added = own.model.encoder_relative(length, length)[0, 0, 1, 0].item()

    page.goto(f"{address}/positions?text={TEXT.replace(' ', '+')}&positions=relative+bias")
    expect(page.get_by_text("What to look for:")).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(4)
    wait_until_idle(page)
    headline = page.locator("p.headline").first
    expect(headline).to_contain_text("Head 1 of the encoder favours")
    check_headline(headline.inner_text())

    chosen = "head=encoder.1.1&query=2&key=1&at_step=bias"
    page.goto(f"{address}/inside?text={TEXT.replace(' ', '+')}&{chosen}")
    step = page.locator("li.step.bias:not([hidden])")
    expect(step.locator("canvas").first).to_be_visible()
    expect(step.locator(".hand")).to_contain_text("distance −1, the key stands 1 token before the query: bucket 1")
    expect(step.locator(".hand")).to_contain_text(f"its learned number: {added:.4f}".replace("-", "−"))

    page.goto(f"{address}/inside?inside=architecture&text={TEXT.replace(' ', '+')}")
    page.locator(".box", has_text="Relative bias").first.click()
    expect(page.get_by_text("far distances share one, in buckets").first).to_be_visible()
    expect(page.locator(".box", has_text="RMSNorm").first).to_be_visible()
    expect(page.locator(ERRORS)).to_have_count(0)
