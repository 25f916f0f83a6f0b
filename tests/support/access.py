"""What shuts people out of a page: grave findings of axe-core, and a page wider than its screen."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

_AXE = Axe().axe_script
_GRAVE = """async () => {
    const { violations } = await axe.run({ resultTypes: ["violations"] });
    const grave = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
    const named = ({ html, any }) => `${html.slice(0, 120)} ${any.map((check) => check.message)}`;
    return grave.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${named(node)}`));
}"""
# The app scrolls within itself, a page that was taken from it as a whole.
_TOO_WIDE = """() => {
    const page = document.querySelector("[data-testid=stMain]") ?? document.scrollingElement;
    return page.scrollWidth > page.clientWidth;
}"""


def shut_out(page: Page) -> list[str]:
    """What keeps someone from using the page as it stands; empty when nothing does."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(_AXE)
    found = page.evaluate(_GRAVE)
    if page.evaluate(_TOO_WIDE):
        found.append("the page is wider than the screen")
    return found


def shuts_no_one_out(page: Page) -> None:
    """Fails with what keeps someone from using the page as it stands."""
    found = shut_out(page)
    assert not found, "\n".join(found)
