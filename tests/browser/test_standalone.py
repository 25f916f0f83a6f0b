"""A page that was saved from the app or a notebook: opened from a disk without a network, it is as alive."""

import dataclasses
from urllib.parse import quote
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import expect
from support.browser import expect_accessible, wait_until_idle
from support.chromium import new_visitor

from headlight.plots.numbers import percent
from headlight.plots.tokens import shown_tokens
from headlight.views.attention.explorer_content import DEFAULTS, explorer_blob, explorer_page, select_heads
from transformer.interpret.trace import Trace

SENTENCE = "I don't love my teacher."
EVIL = "</script><img src=x onerror=window.hurt=1><!--<script>"
QUERIES, KEYS = ".query_tokens button", ".key_tokens button"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def trace(shipped) -> Trace:
    return shipped.trace(SENTENCE)


def test_hostile_text_stays_text_also_in_its_picture(files, trace, tmp_path):
    names = ("source_tokens", "decoder_input_tokens", "target_tokens")
    sides = {name: (f"{EVIL}\x01", *getattr(trace, name)[1:]) for name in names}
    hostile = dataclasses.replace(trace, source_text=EVIL, target_text=f"{EVIL}$script", **sides)
    options = {**DEFAULTS, "view": "lines"}
    page = files(explorer_page(hostile, EVIL, selection=select_heads(trace, "cross", 1, 2), options=options))
    expect(page.get_by_text(f"Translation: {EVIL}$script", exact=True)).to_be_visible()
    page.get_by_role("button", name="Download: the chosen heads").click()
    with page.expect_download() as saving:
        page.get_by_role("button", name="SVG", exact=True).click()
    saving.value.save_as(tmp_path / "attention.svg")
    picture = ElementTree.parse(tmp_path / "attention.svg").getroot()
    drawn = sorted(float(each.get("stroke-opacity")) for each in picture.iter(f"{SVG}path") if each.get("stroke"))
    weights = trace.cross[1, 2]
    np.testing.assert_allclose(drawn, np.sort(weights[weights >= 0.02]), atol=1e-3)
    assert page.locator("img").count() == 0 and page.evaluate("window.hurt") is None


def test_nothing_is_let_in_or_out(browser, trace, tmp_path):
    """An edited script has another hash than its policy names, and requests are forbidden."""
    text, loads = explorer_page(trace), '<img src="https://example.com/x.png"><script>window.hurt = 1</script>'
    assert len(text.encode()) <= 1.5 * len(explorer_blob(trace)) + 300_000
    (tmp_path / "page.html").write_text(text.replace("<main", f"{loads}<main"), encoding="utf-8")
    context = new_visitor(browser)
    page, requests = context.new_page(), []
    context.route("**/*", lambda route: (requests.append(route.request.url), route.continue_()))
    page.goto((tmp_path / "page.html").as_uri())
    expect(page.locator(".readout")).not_to_be_empty()
    outcome = page.evaluate("fetch('https://example.com/').then(() => 'let through', error => error.name)")
    assert outcome == "TypeError" and page.evaluate("window.hurt") is None
    assert [url for url in requests if not url.startswith("file:")] == []
    context.close()


def test_attention_is_saved_with_its_choice(page, address, files, tmp_path, trace):
    query = f"text={quote(SENTENCE)}&head=decoder.2.3&view=lines&query=3"
    page.goto(f"{address}/attention?{query}")
    button = page.get_by_role("button", name="Download as a page")
    expect(button).to_be_visible()
    wait_until_idle(page)
    with page.expect_download() as saving:
        button.click()
    saving.value.save_as(tmp_path / "saved.html")
    alone = files((tmp_path / "saved.html").read_text(encoding="utf-8"))
    expect(alone.locator(".heads_name")).to_have_text("Masked decoder self-attention: layer 2, head 3")
    expect(alone.locator(".readers [aria-pressed=true]")).to_have_text(shown_tokens(trace.target_tokens)[2])
    expect(alone.locator(".readout")).to_contain_text(f": {percent(trace.decoder[1, 2, 2].max())}.")
    expect_accessible(alone)
