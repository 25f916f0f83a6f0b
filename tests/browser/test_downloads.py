"""Downloads of every figure: picture, numbers and caption. The page is dark and the sentence hostile."""

import csv
import io
import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from support.browser import expect_accessible, follow, wait_until_idle

from transformer import Trace

SVG = "{http://www.w3.org/2000/svg}"
EVIL = "He said =1 <b>cat</b>."  # its unknown characters are “<unk>”, and its translation has “-” as tokens
LAYER, HEAD, STEP = 2, 4, 3
KINDS = ("encoder", "decoder", "cross")
MENU = ".menu:popover-open"
WHITE = 0xFFFFFFFF
FOCUSED = """() => {
    let element = document.activeElement;
    while (element.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
    return element.ariaLabel ?? "";
}"""
COLOURS = """async text => {
    const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
    const picture = await createImageBitmap(new Blob([bytes])), { width, height } = picture;
    const canvas = new OffscreenCanvas(width, height), pen = canvas.getContext("2d");
    pen.drawImage(picture, 0, 0);
    const pixels = new Uint32Array(pen.getImageData(0, 0, width, height).data.buffer), [corner] = pixels;
    return { width, height, corner, paper: pixels.filter(each => each === corner).length, all: new Set(pixels).size };
}"""


@pytest.fixture(scope="module")
def visited(windows, address) -> Iterator[Callable[[str], Page]]:
    """Go to an address with the hostile sentence, in one window; no script may fail in it."""
    page, errors = windows("downloads", width=1366, height=768, scheme="dark"), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{address}/decoding")
    expect(page.locator(".place")).to_be_visible()

    def visit(path: str) -> Page:
        follow(page, f"{path}{'&' if '?' in path else '?'}text={quote(EVIL)}&head=cross.{LAYER + 1}.{HEAD + 1}")
        return page

    yield visit
    page.goto("about:blank")
    assert not errors


@pytest.fixture(scope="module")
def trace(shipped) -> Trace:
    return shipped.trace(EVIL)


@pytest.fixture
def take(tmp_path) -> Callable[[Page, str, str], dict[str, Path]]:
    """Open the menu of the figure with this button, and save these kinds of files, which are all that it offers."""

    def take(page: Page, button: str, kinds: str) -> dict[str, Path]:
        page.locator(button).click()
        offers = {kind: page.locator(f"{MENU} [data-take={kind}]") for kind in ("png", "svg", "csv", "npz")}
        expect(offers["png"]).to_be_visible()
        assert [kind for kind, offer in offers.items() if offer.is_visible()] == kinds.split()
        files = {}
        for kind in kinds.split():
            with page.expect_download() as saving:
                offers[kind].click()
            files[kind] = tmp_path / saving.value.suggested_filename
            saving.value.save_as(files[kind])
        return files

    return take


def check_picture(page: Page, files: dict[str, Path], name: str) -> ElementTree.Element | None:
    """Check that the PNG is light and drawn, and twice as large as the vector graphic; then close the menu."""
    assert files["png"].name == f"{name}.png"
    read = page.evaluate(COLOURS, b64encode(files["png"].read_bytes()).decode())
    assert read["corner"] == WHITE and read["all"] > 50 and read["paper"] > 0.1 * read["width"] * read["height"]
    picture = None
    if "svg" in files:
        picture = ElementTree.parse(files["svg"]).getroot()
        tags = {each.tag.removeprefix(SVG) for each in picture.iter()}
        assert not tags & {"script", "img", "image", "foreignObject", "a"}, "text alone"
        assert picture.find(f"{SVG}desc").text == page.locator(f"{MENU} .caption").inner_text()
        assert [read["width"], read["height"]] == [round(2 * float(picture.get(side))) for side in ("width", "height")]
    page.keyboard.press("Escape")
    expect(page.locator(MENU)).to_have_count(0)
    return picture


def rows_of(files: dict[str, Path]) -> list[dict[str, str]]:
    """Return the rows of the CSV, in which no cell is a formula, without the apostrophes that prevent it."""
    rows = list(csv.DictReader(io.StringIO(files["csv"].read_text(encoding="utf-8"), newline="")))
    for row in rows:
        for cell in row.values():
            assert not re.match(r"[=+@\t\r]|-(?![\d.]|Infinity)", cell), f"{cell} is a formula"
    return [{name: re.sub("^'(?=[=+@-])", "", cell) for name, cell in row.items()} for row in rows]


def numbers(rows: list[dict[str, str]], column: str) -> list[float]:
    return [float(row[column]) for row in rows]


def test_a_plotly_map_has_its_weights_in_picture_and_numbers_and_its_menu_has_the_keys(visited, take, trace):
    page, weights = visited("/?map=1"), trace.cross[LAYER, HEAD]
    button = page.locator(".st-key-cross_map > .figure_download")
    expect(button).to_be_visible()
    files = take(page, ".st-key-cross_map > .figure_download", "png svg csv npz")
    picture = check_picture(page, files, "cross_map")
    boxes = picture.findall(f".//{SVG}g[@class='cells']/{SVG}rect")
    opaque = np.array([float(box.get("fill-opacity")) for box in boxes])
    assert (np.diff(opaque[weights.ravel().argsort()]) >= -1e-6).all(), "the stronger, the more opaque"
    rows = rows_of(files)
    for row, weight in zip(rows, weights.ravel(), strict=True):
        assert row["decoder row: output token"] == trace.target_tokens[int(row["row"])]
        assert row["key: source token"] == trace.source_tokens[int(row["column"])]
        assert float(row["weight"]) == pytest.approx(weight, rel=1e-5)
    with np.load(files["npz"], allow_pickle=False) as read:
        np.testing.assert_array_equal(read["values"].astype(np.float32), weights)
        assert tuple(read["rows"]) == trace.target_tokens and tuple(read["columns"]) == trace.source_tokens

    expect(button).to_be_focused()
    page.keyboard.press("Enter")
    expect_accessible(page)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy as LaTeX").click()
    expect(page.locator(f"{MENU} .status")).to_have_text("Copied.")
    caption = page.locator(f"{MENU} .caption").inner_text()
    assert page.evaluate("navigator.clipboard.readText()").startswith(f"\\caption{{{caption[:20]}")
    page.evaluate("() => { HTMLCanvasElement.prototype.toBlob = (done) => done(null); }")
    page.locator(f"{MENU} [data-take=png]").click()
    expect(page.locator(f"{MENU} .status")).to_contain_text("could not be made")
    page.keyboard.press("Escape")
    page.reload()


def test_every_figure_has_a_button_also_after_it_is_drawn_again(page, address):
    page.goto(f"{address}/decoding?decoding_view=candidates")
    charts, buttons = page.get_by_test_id("stPlotlyChart"), page.locator(".figure_download")
    for top_k in (1, 2):
        wait_until_idle(page)
        expect(charts).to_have_count(1)
        expect(buttons).to_have_count(1)
        page.get_by_role("slider", name="Top-k").press("ArrowRight")
        page.wait_for_url(f"**draw_topk={top_k}**")
    page.get_by_role("link", name="Home").click()
    expect(buttons).to_have_count(0)


@pytest.mark.parametrize(
    ("path", "button", "kinds", "name", "column"),
    [
        ("/?map=1", ".token_lines .download", "png svg csv npz", "token_lines", "weight"),
        (
            "/inside?inside=step+by+step&at_step=softmax",
            "li.step:not([hidden]) .download",
            "png csv npz",
            "attention_softmax",
            "value",
        ),
        (
            "/decoding?decoding_view=beam+search&decoding=beam&beam=3",
            *(".beam_tree .download", "png csv", "beam_tree", "probability"),
        ),
        (
            f"/decoding?step={STEP}",
            *(".candidates .download", "png csv", f"decoding_step_{STEP}", "weight or probability"),
        ),
        ("/what_if?off=none", ".switches .download", "png csv npz", "head_importance", "loss of log P in nats"),
        ("/training", ".head .download", "png csv npz", "training_update_0", "weight"),
    ],
)
def test_a_component_gives_a_picture_and_a_table(visited, take, path, button, kinds, name, column):
    page = visited(path)
    files = take(page, button, kinds)
    check_picture(page, files, name)
    assert page.evaluate(FOCUSED).startswith("Download"), "the button has the keys again"
    assert len(np.unique(numbers(rows_of(files), column))) > 2


def test_one_head_and_all_heads_of_the_explorer(visited, take, trace):
    page, weights = visited("/attention"), trace.cross[LAYER, HEAD]
    files = take(page, ".explorer .main .download", "png svg csv npz")
    check_picture(page, files, "attention")
    np.testing.assert_allclose(numbers(rows_of(files), "weight"), weights.ravel(), atol=1.1e-5)
    with np.load(files["npz"], allow_pickle=False) as read:
        np.testing.assert_allclose(read["values"], weights, atol=1.1e-5)
        assert tuple(read["rows"]) == trace.target_tokens and tuple(read["columns"]) == trace.source_tokens

    files = take(page, ".explorer .overview .download", "png svg csv npz")
    check_picture(page, files, "all_heads")
    frame, rows = trace.to_frame(), rows_of(files)
    frame = frame[frame["kind"] == "cross"]
    assert list(rows[0]) == list(frame.columns)
    np.testing.assert_allclose(numbers(rows, "weight"), frame["weight"], atol=1.1e-5)
    for column in set(frame.columns) - {"weight"}:
        assert [row[column] for row in rows] == list(map(str, frame[column])), column
    with np.load(files["npz"], allow_pickle=False) as read:
        np.testing.assert_allclose(read["cross"], trace.cross, atol=1.1e-5)
        assert tuple(read["cross_query_tokens"]) == trace.decoder_input_tokens
