"""Every page, wide and narrow, light and dark: usable without a mouse or good eyes, nothing wider than the screen."""

from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect
from support.access import shuts_no_one_out
from support.addresses import VIEWS
from support.rest import at_rest, at_rest_for_good, follow

LONG = "I can't swim, and I don't want to learn it."
WITHOUT_FIGURE = {"/training", "/training?training=knobs"}  # until something is started
FIGURES = (
    "[data-testid=stPlotlyChart] .main-svg, .place, li.step canvas, .diagram svg, .numbered, .numbers dd, "
    ".token_lines .row.output, .switches td button, .weight_bars .bar, .beam_tree button"
)
SCREENS = {
    "wide, light": (1440, "light"),
    "phone, dark": (390, "dark"),
    "wide, dark": (1440, "dark"),
    "phone, light": (390, "light"),
}
# The first page is looked at on two of them that share nothing, every other view on one, in turns.
CASES = [
    (path, screen)
    for number, path in enumerate(VIEWS)
    for place, screen in enumerate(SCREENS)
    if place == number % len(SCREENS) or (path == "/" and place == 1)
]


def drawn(page: Page, path: str) -> None:
    """Wait until the page stands: its title, a figure or a player, and no script running."""
    expect(page.get_by_role("heading", name=VIEWS[path], exact=True)).to_be_visible()
    if path in WITHOUT_FIGURE:
        at_rest_for_good(page)
    else:
        expect(page.locator(FIGURES).first).to_be_visible()
        at_rest(page)


@pytest.fixture(scope="module")
def visitors(wanderers):
    """One visitor before each screen, who goes from page to page."""
    screens = {name: {"width": width, "height": 900, "scheme": scheme} for name, (width, scheme) in SCREENS.items()}
    yield from wanderers("wanderer", screens)


@pytest.mark.parametrize("path, screen", CASES)
def test_no_page_shuts_anyone_out(visitors, path, screen):
    page = visitors[screen]
    follow(page, f"{path}{'&' if '?' in path else '?'}text={quote(LONG)}")
    drawn(page, path)
    shuts_no_one_out(page)
