"""What a view is about is in sight at once: nobody has to scroll to its figure, and no text in it is too small."""

import re

import pytest
from playwright.sync_api import Page, expect
from support.rest import at_rest

WINDOW = {"width": 1366, "height": 768}
# Pixels by which the page's own head (title, views) is still too high; 0 once it is a bar on top of the page.
STILL_TOO_HIGH = 0
SMALLEST = 12  # pixels

_SMALLEST_TEXT = """place => {
    const sizes = [], texts = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const { parentElement, textContent } = texts.currentNode;
        if (textContent.trim() && parentElement.checkVisibility()) {
            sizes.push(parseFloat(getComputedStyle(parentElement).fontSize));
        }
    }
    return Math.min(...sizes);
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
    box = page.locator(selector).bounding_box()
    right, bottom = box["x"] + box["width"], box["y"] + box["height"]
    return box["x"] >= 0 and box["y"] >= 0 and right <= WINDOW["width"] and bottom <= WINDOW["height"] + STILL_TOO_HIGH


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
