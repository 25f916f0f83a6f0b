"""Every view: its figure is in sight at a desk and fits a phone, its text can be read, and it is accessible."""

from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect
from support.browser import expect_accessible, follow, wait_for_frames, wait_until_idle

from headlight.app.navigation import page_titles

MAIN, TOO_WIDE = "[data-testid=stMain]", "main => main.scrollWidth > main.clientWidth"
DESK, ZOOMED, PHONE = (1366, 768), (1093, 614), (390, 844)
BAR, CHART = ".st-key-bar", "[data-testid=stPlotlyChart]"
HEADS = ".st-key-head_buttons"
EXPLORER = (".explorer .bar", ".overview canvas", ".readout:not(:empty)")
TEXT, LONGER = "I love my teacher.", "I can't swim, and I don't want to learn it."
# The figure of each view and its controls, which are in sight without scrolling; none for views that may be higher.
VIEWS = {
    "/": (BAR, ".token_lines .stage"),
    "/?map=1": (BAR, ".token_lines .stage", CHART, HEADS),
    "/lessons": (),
    "/decoding": (".controls", ".rows", ".candidates .list", HEADS),
    "/decoding?decoding_view=candidates": (CHART, ".st-key-draw_temperature"),
    "/decoding?decoding=beam&decoding_view=beam+search": (".places table", ".beam_tree .scroll", ".beam_tree .readout"),
    "/attention": (*EXPLORER, ".map canvas"),
    "/attention?attention=one+head": (".head_card .headline", ".own .example", ".examples .example", HEADS),
    "/research?research=why+this+cell&head=cross.3.1": (CHART, ".finding", ".st-key-score_removal", HEADS),
    "/research": (".st-key-tile_atlas", ".st-key-tile_calibration"),
    "/research?research=atlas&head=encoder.1.1": (".head_finder .plot", ".head_finder .readout"),
    "/research?research=attribution": (CHART, ".st-key-step"),
    "/research?research=contributions": (CHART, ".chips", ".st-key-step"),
    "/research?research=contrast": (CHART, ".st-key-step", ".st-key-against"),
    "/research?research=patching": (CHART, ".places table", ".st-key-minimal_pair", ".st-key-patched_row"),
    "/research?research=feed-forward": (CHART, ".st-key-token"),
    "/research?research=calibration": (CHART,),
    "/inside?inside=step+by+step": (".rail", ".chooser", ".products .maps", ".products .worked", HEADS),
    "/inside?inside=small+example": (".st-key-toy_editor", ".chooser", ".rail", "li.softmax .maps"),
    f"/inside?inside={quote('why √d_k')}": (CHART, HEADS),
    "/inside": (".whole_pass canvas", ".controls", ".whole_pass .sentence", ".film"),
    "/inside?inside=masks&head=cross.1.1": (".st-key-leaking", ".st-key-next_tokens", HEADS),
    "/positions": (".finding", ".st-key-reordered"),
    "/positions?positions=waves": (".st-key-waves", ".st-key-rotation", ".st-key-offset"),
    "/positions?positions=relative+bias": (),
    "/training?training=replay&checkpoint=en-fr": (".controls", ".strip", ".all", "table.map"),
    "/training?training=train+live": (),
    "/what_if": (".grids", ".legend", ".translations table"),
    "/what_if?what_if=rewrite+attention": (".rows", ".translations table", ".st-key-rewrite", ".st-key-rewrite_row"),
    "/what_if?what_if=your+translation": (".translations table", ".st-key-own_target"),
}
TITLES = {f"/{name}": title for name, title in page_titles().items()} | {"/": "Headlight"}
# Views whose figure grows with the sentence: with a short one it is in sight.
GROWING = ("/positions", "why+this", "attribution", "contributions", "contrast", "masks", "/what_if", "/inside")


@pytest.fixture(scope="module")
def visitors(windows, address):
    """A visitor in the light and one in the dark, who go from page to page; no script may fail."""
    pages, errors = {}, []
    for scheme in ("light", "dark"):
        page = pages[scheme] = windows(f"views, {scheme}", width=DESK[0], height=DESK[1], scheme=scheme)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{address}/decoding")
        expect(page.locator(".place")).to_be_visible()
    yield pages
    for page in pages.values():
        page.goto("about:blank")
    assert not errors


def resize(page: Page, size: tuple[int, int]) -> None:
    """Give the page a window of another size, and wait until it is drawn."""
    page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    wait_for_frames(page)


def out_of_sight(page: Page, selectors: tuple[str, ...]) -> list[str]:
    """Return the elements that are not wholly within the window."""
    width, height = page.viewport_size["width"], page.viewport_size["height"]
    boxes = {selector: page.locator(selector).first.bounding_box() for selector in selectors}
    return [
        f"{name}: {box}"
        for name, box in boxes.items()
        if min(box["x"], box["y"]) < 0 or box["x"] + box["width"] > width or box["y"] + box["height"] > height
    ]


def visit(page: Page, path: str, text: str) -> None:
    follow(page, f"{path}{'&' if '?' in path else '?'}text={quote(text)}&present=")
    expect(page.get_by_role("heading", name=TITLES[path.split("?")[0]], exact=True)).to_be_visible()
    for selector in VIEWS[path]:
        expect(page.locator(selector).first).to_be_visible()
    wait_until_idle(page)


@pytest.mark.parametrize("path", VIEWS)
def test_a_view_is_in_sight_fits_a_phone_and_is_accessible(visitors, path):
    """Light and dark take turns."""
    page = visitors["light" if list(VIEWS).index(path) % 2 else "dark"]
    resize(page, DESK)
    visit(page, path, TEXT if any(name in path for name in GROWING) else LONGER)
    for size in (DESK, ZOOMED):
        resize(page, size)
        assert not out_of_sight(page, VIEWS[path]), size
        assert not page.locator(MAIN).evaluate(TOO_WIDE), size
    resize(page, PHONE)
    wait_until_idle(page)
    expect_accessible(page)
