"""What a view is about is in sight at once: nobody has to scroll to its figure, and no text in it is too small."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect
from support.rest import at_rest, follow

WINDOW = {"width": 1366, "height": 768}
SMALLEST = 12  # pixels
BAR, CHART = ".st-key-bar", "[data-testid=stPlotlyChart]"
# Of every view the figure that it is about, and what one chooses it by. The batches of Training are not among them: a
# batch has as many rows as it has sentences.
VIEWS = {
    "/": (BAR, ".token_lines .stage"),
    "/translate": (".token_lines .stage", CHART, ".st-key-compact_head"),
    "/decoding": (".controls", ".candidates table", ".st-key-compact_head"),
    "/attention?attention=rollout": (CHART, ".st-key-rolled_layers"),
    f"/attention?attention={quote('attribution methods')}": (CHART, ".st-key-layer_buttons"),
    "/inside?at_step=products": (".rail", ".chooser", ".products .maps", ".st-key-compact_head"),
    "/inside?at_step=values": (".rail", ".chooser", ".values .own", ".st-key-compact_head"),
    f"/inside?inside={quote('small example')}": (".st-key-toy_editor", ".chooser", "li.input .maps"),
    f"/inside?inside={quote('splitting into heads')}": (".numbered", ".st-key-split_heads"),
    f"/inside?inside={quote('why √d_k')}": (CHART, ".st-key-compact_head"),
    "/architecture": (".diagram svg",),
    "/architecture?architecture=trajectory": (CHART, ".st-key-token"),
    "/architecture?architecture=embeddings": (CHART, ".st-key-token"),
    "/architecture?architecture=feed-forward": (CHART, ".st-key-token"),
    f"/architecture?architecture={quote('pre-norm and post-norm')}": (CHART, ".st-key-norm_layers"),
    "/logits": (CHART, ".st-key-logit_step"),
    f"/logits?logits={quote('logit lens')}": (".places table",),
    "/logits?logits=calibration": (CHART,),
    **{f"/positions?positions={view}": (CHART, ".st-key-d_model") for view in ("curves", "matrix", "similarity")},
    "/positions?positions=wavelengths": (CHART, ".st-key-d_model"),
    "/positions?positions=rotation": (CHART, ".st-key-offset"),
    f"/positions?positions={quote('embedding sum')}": (CHART, ".st-key-first_dims"),
    "/masks": (CHART, ".st-key-row"),
    f"/masks?masks={quote('one head')}": (CHART, ".st-key-compact_head"),
    f"/masks?masks={quote('without the mask')}": (CHART, ".st-key-compact_head"),
    f"/training?training={quote('training replay')}&checkpoint=en-fr": (".controls", ".strip", ".all", "table.map"),
    f"/training?training={quote('learning-rate schedule')}": (CHART,),
    f"/training?training={quote('label smoothing')}": (CHART, ".st-key-epsilon"),
    "/what_if": (".grids", ".legend", ".compared table", ".st-key-ablated_by"),
    f"/what_if?what_if={quote('rewrite attention')}": (
        ".rows",
        ".compared table",
        ".st-key-rewrite",
        ".st-key-rewrite_row",
    ),
    "/what_if?what_if=compare": (CHART, ".st-key-compare", ".st-key-compact_head"),
    "/what_if?what_if=beam%20tree": (".beam_tree .scroll", ".beam_tree .readout", ".st-key-tree_beam"),
    "/what_if?what_if=patching": (CHART, ".places table", ".st-key-minimal_pair", ".st-key-patched_row_slider"),
    "/why": (".places table", ".st-key-logit_step", ".st-key-logit_layers"),
    f"/why?why={quote('source or prefix')}": (CHART, ".pieces", ".st-key-share_of_slider"),
    "/why?why=contrast": (CHART, ".st-key-why_step_slider", ".st-key-against_list"),
    f"/what_if?what_if={quote('your translation')}": (".compared table", ".st-key-own_target_line"),
    "/questions": (CHART, ".st-key-question"),
}

_SMALLEST_TEXT = """place => {
    const sizes = [], texts = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const { parentElement, textContent } = texts.currentNode;
        if (textContent.trim() && parentElement.checkVisibility()) {
            sizes.push(parseFloat(getComputedStyle(parentElement).fontSize));
        }
    }
    return Math.min(100, ...sizes);
}"""
# What a canvas writes cannot be asked for afterwards: its pens are listened to.
_LISTEN = """() => {
    window.written = [];
    const own = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
        const size = Number(/([\\d.]+)px/.exec(this.font)[1]);
        if (String(text).trim()) window.written.push(size);
        return own.call(this, text, ...place);
    };
}"""


def is_in_sight(page: Page, selector: str) -> bool:
    box = page.locator(selector).first.bounding_box()
    right, bottom = box["x"] + box["width"], box["y"] + box["height"]
    return box["x"] >= 0 and box["y"] >= 0 and right <= WINDOW["width"] and bottom <= WINDOW["height"]


@pytest.fixture(scope="module")
def visitors(wanderers):
    """One visitor in the light and one in the dark, who go from page to page."""
    yield from wanderers("projector", {scheme: {**WINDOW, "scheme": scheme} for scheme in ("light", "dark")})


@pytest.mark.parametrize("path", VIEWS)
def test_on_a_projector_the_figure_of_every_view_and_its_controls_are_in_sight(visitors, path):
    page = visitors["light" if len(path) % 2 else "dark"]
    follow(page, f"{path}{'&' if '?' in path else '?'}text={quote('I love my teacher.')}")
    for selector in VIEWS[path]:
        expect(page.locator(selector).first).to_be_visible()
    at_rest(page)
    for selector in VIEWS[path]:
        assert is_in_sight(page, selector), f"{selector}: {page.locator(selector).first.bounding_box()}"
    for figure in page.locator(f"{CHART} svg.main-svg, .player").all():
        if figure.is_visible():
            assert figure.evaluate(_SMALLEST_TEXT) >= SMALLEST


@pytest.mark.parametrize(
    "path, component, seen",
    [
        ("attention", ".explorer", (".bar", ".overview canvas", ".map canvas", ".readout")),
        ("attention?see_view=lines", ".explorer", (".bar", ".overview canvas", ".lines canvas", ".readout")),
        (
            "attention?text=The+old+man+next+door+says+that+he+has+never+seen+such+a+beautiful+garden.",
            ".explorer",
            (".bar", ".overview canvas", ".map canvas", ".readout"),
        ),
    ],
)
def test_the_figure_is_in_sight_and_no_text_in_it_is_too_small(visitor, address, path, component, seen):
    page = visitor("fold", **WINDOW)
    page.add_init_script(f"({_LISTEN})()")
    page.goto(f"{address}/{path}")
    expect(page.locator(component)).to_be_visible()
    expect(page.locator(seen[-1])).to_have_text(re.compile("."))
    at_rest(page)
    for selector in seen:
        assert is_in_sight(page, selector), f"{selector}: {page.locator(selector).bounding_box()}"
    assert page.locator(component).evaluate(_SMALLEST_TEXT) >= SMALLEST
    assert min(page.evaluate("window.written")) >= SMALLEST
