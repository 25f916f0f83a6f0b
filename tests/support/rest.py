"""Waiting for the app, not for the clock."""

from playwright.sync_api import Page

_LOOK = 100  # milliseconds from look to look: looking at every frame makes the browser draw every frame

# What is left of the run before fades out, and what comes anew fades in: until then the colours are neither's.
_STANDS = """() => document.querySelector("[data-testid=stApp]")?.dataset.testScriptState === "notRunning"
    && !document.querySelector("[data-stale=true]")
    && !document.getAnimations().some(each => each instanceof CSSTransition && each.playState === "running")"""
# Between two runs a page rests for a moment, too.
_STANDS_FOR_GOOD = f"""() => {{
    if (!({_STANDS})()) {{ window.restsSince = undefined; return false; }}
    window.restsSince ??= performance.now();
    return performance.now() - window.restsSince > 700;
}}"""

# Follow a link within the app, as Back and Forward do, and note that the page has begun to change.
_FOLLOW = """address => {
    const find = (name) => document.querySelector(`[data-testid=${name}]`);
    window.answered = false;
    const observer = new MutationObserver(() => { window.answered = true; observer.disconnect(); });
    observer.observe(find("stApp"), { attributeFilter: ["data-test-script-state"] });
    observer.observe(find("stMain"), { childList: true, subtree: true });
    history.pushState({}, "", address);
    dispatchEvent(new PopStateEvent("popstate", { state: {} }));
}"""


def at_rest(page: Page) -> None:
    """Wait until the server has nothing more to send for this page, and nothing on it fades any more."""
    page.wait_for_function(_STANDS, polling=_LOOK)


def at_rest_for_good(page: Page) -> None:
    """Wait until that has been so for a while: for a page that has nothing else to tell that it is complete."""
    page.wait_for_function(_STANDS_FOR_GOOD, polling=_LOOK)


def follow(page: Page, address: str) -> None:
    """Go to another address of the app that stands on this page, without reading the app's scripts anew."""
    page.evaluate(_FOLLOW, address)
    page.wait_for_function("window.answered", polling=_LOOK)
    at_rest(page)
