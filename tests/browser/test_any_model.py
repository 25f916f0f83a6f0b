"""Attention of other libraries' models in the explorer: read from the page, it is what the model gave."""

import io
import zipfile

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, expect
from support.browser import expect_accessible
from support.other_models import FAMILIES, tiny_model

import headlight as hl

TITLES = {"encoder": "Self-attention", "cross": "Cross-attention"}


def read_all(page: Page) -> dict[str, np.ndarray]:
    """Return the arrays of all heads that the page offers, all kinds that it has."""
    page.locator(".options summary").click()
    if page.locator("label.kinds").is_visible():
        page.get_by_label("Kinds").select_option("all three")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Download: all heads").click()
    with page.expect_download() as saving:
        page.get_by_role("button", name="NPZ", exact=True).click()
    with zipfile.ZipFile(saving.value.path()) as archive:
        return {name.removesuffix(".npy"): np.load(io.BytesIO(archive.read(name))) for name in archive.namelist()}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_cell_is_the_weight_that_the_model_gave(files, family):
    model, inputs = tiny_model(family)
    with torch.no_grad():
        output = model(**inputs, output_attentions=True)
    page = files(hl.explore(output).page)
    expect(page.locator(".readout")).not_to_be_empty()
    arrays = read_all(page)
    names = {"attentions": "encoder", **{f"{kind}_attentions": kind for kind in ("encoder", "decoder", "cross")}}
    returned = {kind: output[name] for name, kind in names.items() if output.get(name)}
    assert {name for name in arrays if not name.endswith("_tokens")} == returned.keys()
    for kind, layers in returned.items():
        np.testing.assert_allclose(arrays[kind], torch.cat(layers), atol=1.001e-5, rtol=0)
    kind = "cross" if len(returned) > 1 else "encoder"
    title = "Masked self-attention" if family in ("GPT2", "Llama", "Mistral") else TITLES[kind]
    expect(page.locator(".heads_name")).to_contain_text(f"{title}: layer ")


def test_pruned_heads_unequal_rows_and_words(files):
    """A layer of 3 heads, one of 1, one without; rows that sum to more than 1; tokens of WordPiece."""
    tokens = ["[CLS]", "tea", "##ching", "is", "fun", "[SEP]"]
    layers = [1.5 * np.eye(6)[None].repeat(3, axis=0), np.eye(6, k=1)[None] + np.eye(6)[:1] * 0.25, None]
    page = files(hl.explore(layers, tokens).page)
    expect(page.locator(".explanation")).to_contain_text("rows add up to 25 % to 150 %")
    assert page.locator(".key_tokens button").all_inner_texts() == ["[CLS]", "tea", "·ching", "is", "fun", "[SEP]"]
    page.locator("details.heads summary").click()
    heads = page.locator("details.heads table button")
    expect(heads).to_have_text(["layer 1, head 1", "layer 1, head 2", "layer 1, head 3", "layer 2, head 1"])
    heads.last.click()
    expect(page.locator(".heads_name")).to_have_text("Self-attention: layer 2, head 1")
    expect_accessible(page)
    arrays = read_all(page)
    np.testing.assert_allclose(arrays["encoder"][0], layers[0], atol=1e-4)
    assert not arrays["encoder"][1, 1:].any() and not arrays["encoder"][2].any()
