"""What stands on a page in turn, also what stands there for a moment alone, however late one looks."""

from playwright.sync_api import Locator, Page

_LISTEN = """(within, selector) => {
    const root = within.getRootNode(), heard = window.heard = [];
    const note = () => {
        const shown = [...root.querySelectorAll(selector)].filter(each => each.checkVisibility());
        const text = shown.map(each => each.textContent.trim()).join();
        if (text && text !== heard.at(-1)) heard.push(text);
    };
    note();
    new MutationObserver(note).observe(root, { childList: true, characterData: true, subtree: true });
}"""


def listen(within: Locator, selector: str) -> None:
    """Note the text, and from here on each text, that the elements of a selector have in turn while they are seen.

    They are looked for in the tree that `within` is in, a component's or the page's.
    """
    within.evaluate(_LISTEN, selector)


def heard(page: Page) -> list[str]:
    """Return the text that stood there when `listen` was called, and those since."""
    return page.evaluate("window.heard")
