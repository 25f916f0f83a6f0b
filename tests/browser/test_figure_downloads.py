"""What a visitor takes along of a figure: the picture as the page shows it, its numbers, and its caption."""

import csv
import io
import re
import tomllib
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from support.browser import expect_accessible, wait_until_idle
from support.source_files import ROOT
from support.traces import replayed

from headlight.plots.numbers import format_probability
from headlight.plots.palette import WEIGHT_SCALE

LIGHT = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())["theme"]["light"]["chartSequentialColors"]
SVG = "{http://www.w3.org/2000/svg}"
LAYER, HEAD = 2, 0
EVIL = '=1+1 </script><img src=x onerror="window.hurt=1">'  # so long that no digits fit into the cells
TEXTS = {"light": EVIL, "dark": "I love my teacher."}
INK, DARK_PAPER = (47, 45, 43), "rgb(23, 22, 20)"
PIXEL = """async ([text, x, y]) => {
    const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
    const picture = await createImageBitmap(new Blob([bytes]));
    const canvas = new OffscreenCanvas(picture.width, picture.height), pen = canvas.getContext("2d");
    pen.drawImage(picture, 0, 0);
    return [picture.width, picture.height, ...pen.getImageData(x, y, 1, 1).data];
}"""


@pytest.fixture
def take(tmp_path) -> Callable[[Page, str], Path]:
    """A function that takes one file from the open menu."""

    def take(page: Page, kind: str) -> Path:
        with page.expect_download() as saving:
            page.locator(f".figure_downloads [data-take={kind}]").click()
        path = tmp_path / saving.value.suggested_filename
        saving.value.save_as(path)
        expect(page.locator(".figure_downloads .status")).to_have_text(f"{path.name} is saved.")
        return path

    return take


def open_menu(page: Page) -> None:
    """Open the menu of the map on the home page."""
    page.locator(".st-key-cross_map > .figure_download").click()
    expect(page.locator(".figure_downloads .menu")).to_be_visible()


@pytest.fixture(scope="module")
def visits(windows, address) -> Iterator[Callable[[str], Page]]:
    """A function from a theme to the map of one head, on a page that stands open for all tests; no script may fail."""
    opened, errors = {}, []

    def visit(scheme: str) -> Page:
        if scheme not in opened:
            page = opened[scheme] = windows(f"figures, {scheme}", scheme=scheme)
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.goto(f"{address}/?map=1&text={quote(TEXTS[scheme])}&head=cross.{LAYER + 1}.{HEAD + 1}")
            expect(page.locator(".st-key-cross_map > .figure_download")).to_be_visible()
            wait_until_idle(page)
        return opened[scheme]

    yield visit
    for page in opened.values():
        page.goto("about:blank")
    assert not errors


def colour(weight: float) -> np.ndarray:
    """Red, green, blue and opacity on the scale of weights, which ends in the light theme's strongest colour."""
    stops = [(at, [float(part) for part in re.findall(r"[\d.]+", text)]) for at, text in WEIGHT_SCALE[:-1]]
    stops.append((1.0, [*bytes.fromhex(LIGHT[-1].removeprefix("#")), 1.0]))
    return np.array([np.interp(weight, [at for at, _ in stops], [parts[n] for _, parts in stops]) for n in range(4)])


def test_a_map_is_after_full_screen_as_large_as_before(visits):
    page = visits("dark")
    cells = page.locator(".heatmaplayer image").first
    before = cells.get_attribute("width")
    page.locator(".st-key-cross_map [data-testid=stPlotlyChart]").hover()
    page.get_by_role("button", name="Fullscreen", exact=True).first.click()
    expect(cells).not_to_have_attribute("width", before)
    page.keyboard.press("Escape")
    expect(cells).to_have_attribute("width", before)


@pytest.mark.parametrize("scheme", TEXTS)
def test_a_picture_has_a_box_in_the_colour_of_each_weight_and_the_caption_in_the_light_theme(
    visits, shipped, take, scheme
):
    page, weights = visits(scheme), replayed(shipped, TEXTS[scheme]).cross[LAYER, HEAD]
    open_menu(page)
    path = take(page, "svg")
    assert path.name == "cross_map.svg"
    written, picture = path.read_text(encoding="utf-8"), ElementTree.parse(path).getroot()
    boxes = picture.findall(f".//{SVG}g[@class='cells']/{SVG}rect")
    assert len(boxes) == weights.size
    for box, weight in zip(boxes, weights.ravel(), strict=True):
        parts = [*map(int, re.findall(r"\d+", box.get("fill"))), float(box.get("fill-opacity"))]
        assert (np.abs(parts - colour(float(weight))) <= (0.51, 0.51, 0.51, 1e-4)).all()
        assert box.find(f"{SVG}title").text.endswith(f"weight {format_probability(weight)}")
    places = np.array([[float(box.get("x")), float(box.get("y"))] for box in boxes]).reshape(*weights.shape, 2)
    assert (np.diff(places[0, :, 0]) > 0).all() and (np.diff(places[:, 0, 1]) > 0).all()
    assert picture.find(f"{SVG}title").text == f"Heatmap. Cross-attention: layer {LAYER + 1}, head {HEAD + 1}"
    caption = page.locator(".figure_downloads .caption").inner_text()
    assert picture.find(f"{SVG}desc").text == caption and " looks at " in caption
    inks = [each.get("fill") for each in picture.iter(f"{SVG}text")]
    on_cells = {"rgb(0, 0, 0)", "rgb(255, 255, 255)"} if scheme == "dark" else set()
    assert set(inks) == {f"rgb{INK}"} | on_cells, "the light theme's ink, and its black and white on the cells"
    assert inks.count("rgb(255, 255, 255)") == (np.sum(weights >= 0.7) if on_cells else 0)
    ends = [each.get("stop-color") for each in picture.findall(f".//{SVG}stop")]
    assert "rgb(158, 202, 255)" not in ends + [each.get("fill") for each in boxes]
    assert DARK_PAPER not in written and "<image" not in written
    assert "@font-face" in written and written.count('font-family="') == 1

    width, height = (float(picture.get(side)) for side in ("width", "height"))
    read = page.evaluate(PIXEL, [b64encode(take(page, "png").read_bytes()).decode(), 4, 4])
    assert read[:2] == [round(2 * width), round(2 * height)]
    assert read[2:] == [255, 255, 255, 255], "white paper"


def test_the_numbers_are_those_of_the_trace_and_a_hostile_token_is_text(visits, shipped, take):
    page, trace = visits("light"), replayed(shipped, EVIL)
    weights = trace.cross[LAYER, HEAD]
    open_menu(page)
    rows = list(csv.reader(io.StringIO(take(page, "csv").read_text(encoding="utf-8"))))
    assert rows[0] == ["row", "decoder row: input → output token", "column", "key: source token", "weight"]
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@"))]
    assert len(rows) == 1 + weights.size
    steps = tuple(map(" → ".join, zip(trace.decoder_input_tokens, trace.target_tokens, strict=True)))
    for row, token, column, key, weight in rows[1:]:
        assert token.removeprefix("'") == steps[int(row)].removeprefix("'")
        assert key.removeprefix("'") == trace.source_tokens[int(column)].removeprefix("'")
        assert float(weight) == pytest.approx(weights[int(row), int(column)], rel=1e-5)
    with np.load(take(page, "npz"), allow_pickle=False) as read:
        np.testing.assert_array_equal(read["values"].astype(np.float32), weights)
        assert tuple(read["rows"]) == steps and tuple(read["columns"]) == trace.source_tokens
    picture = ElementTree.parse(take(page, "svg")).getroot()
    tags = {each.tag.removeprefix(SVG) for each in picture.iter()}
    assert not tags & {"script", "img", "image", "foreignObject", "a"}
    titles = [each.text for each in picture.iterfind(f".//{SVG}g[@class='cells']//{SVG}title")]
    assert any("</" in title or "<" in title for title in titles)
    assert page.evaluate("window.hurt") is None


def test_a_picture_that_the_browser_cannot_make_is_said(visits):
    page = visits("light")
    open_menu(page)
    page.evaluate("() => { window.own = HTMLCanvasElement.prototype.toBlob; }")
    page.evaluate("() => { HTMLCanvasElement.prototype.toBlob = (done) => done(null); }")
    page.locator(".figure_downloads [data-take=png]").click()
    expect(page.locator(".figure_downloads .status")).to_contain_text("could not be made")
    page.evaluate("() => { HTMLCanvasElement.prototype.toBlob = window.own; }")
    page.keyboard.press("Escape")


def test_the_menu_is_reached_read_and_left_by_keys(visits):
    page = visits("light")
    open_menu(page)
    button = page.locator(".st-key-cross_map > .figure_download")
    focused = "document.activeElement.shadowRoot?.activeElement?.textContent ?? document.activeElement.className"
    assert page.evaluate(focused) == "PNG"
    expect_accessible(page)
    page.keyboard.press("Escape")
    expect(page.locator(".figure_downloads .menu")).to_be_hidden()
    expect(button).to_be_focused()
    assert button.get_attribute("aria-label").startswith("Download: Heatmap. Cross-attention")
    page.keyboard.press("Enter")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy as LaTeX").click()
    expect(page.locator(".figure_downloads .status")).to_have_text("Copied.")
    caption = page.locator(".figure_downloads .caption").inner_text()
    assert caption.startswith("Heatmap. Cross-attention: layer 3, head 1. “script” looks at “script”: ")
    assert page.evaluate("navigator.clipboard.readText()") == f"\\caption{{{caption}}}"


def test_every_figure_of_a_page_has_a_button_also_after_it_is_drawn_anew(page, address):
    page.goto(f"{address}/decoding?decoding_view=candidates")
    charts, buttons = page.get_by_test_id("stPlotlyChart"), page.locator(".figure_download")
    for top_k in (1, 2):
        wait_until_idle(page)
        expect(charts).to_have_count(2)
        expect(buttons).to_have_count(2)
        page.get_by_role("slider", name="Top-k").press("ArrowRight")
        page.wait_for_url(f"**draw_topk={top_k}**")  # Streamlit tells the app a moment after it has moved the thumb
    page.get_by_role("link", name="Home").click()
    expect(charts).to_have_count(0)
    expect(buttons).to_have_count(0)
