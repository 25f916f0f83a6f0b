"""Waiting for the app, not for the clock."""

import contextlib

from playwright.sync_api import Page, TimeoutError, expect

from .chromium import PATIENCE

_LOOK = 100  # milliseconds from look to look: looking at every frame makes the browser draw every frame

# What is left of the run before fades out, and what comes anew fades in: until then the colours are neither's.
_STANDS = """() => document.querySelector("[data-testid=stApp]")?.dataset.testScriptState === "notRunning"
    && document.querySelector("[data-testid=stApp]").dataset.testConnectionState === "CONNECTED"
    && !document.querySelector("[data-stale=true]")
    && !document.getAnimations().some(each => each instanceof CSSTransition && each.playState === "running")"""
# What a page that never rests is still doing.
_STIRS = """() => JSON.stringify({
    address: location.href,
    app: { ...document.querySelector("[data-testid=stApp]")?.dataset },
    stale: [...document.querySelectorAll("[data-stale=true]")].map(each => each.className).slice(0, 5),
    running: document.getAnimations().filter(each => each.playState === "running").map(
        each => `${each.constructor.name} ${each.transitionProperty ?? ""} of ${each.effect?.target?.className}`
    ).slice(0, 5),
})"""

# Follow a link within the app, as Back and Forward do, and note that the page has begun to change. A run that changes
# nothing may be over before the page is drawn, and then shows in nothing but the address, which it writes anew.
_FOLLOW = """address => {
    const find = (name) => document.querySelector(`[data-testid=${name}]`);
    window.answered = false;
    const observer = new MutationObserver(() => { window.answered = true; observer.disconnect(); });
    observer.observe(find("stApp"), { attributeFilter: ["data-test-script-state"] });
    observer.observe(find("stMain"), { childList: true, subtree: true });
    history.pushState({}, "", address);
    window.followed = location.href;
    dispatchEvent(new PopStateEvent("popstate", { state: {} }));
}"""


def at_rest(page: Page) -> None:
    """Wait until the server has nothing more to send for this page, and nothing on it fades any more."""
    try:
        page.wait_for_function(_STANDS, polling=_LOOK, timeout=PATIENCE)
    except TimeoutError as error:
        raise AssertionError(f"{page.url} never rests: {page.evaluate(_STIRS)}") from error


# Until what follows from other sizes is drawn: they are observed in a frame, and what has another size then in the
# next.
_DRAWN = """() => new Promise(done => {
    let frames = 4;
    const next = () => (frames-- ? requestAnimationFrame(next) : done());
    next();
})"""


def drawn(page: Page) -> None:
    """Wait until all that follows from what was just shown, or from another size of the window, is drawn."""
    page.evaluate(_DRAWN)


def back(page: Page) -> None:
    """Go back, once the page has come to rest: what a run under way still writes would be the newer address."""
    at_rest(page)
    page.go_back()


# A page that is being left hears nothing (components/lib/leaving.js): after Back until the other one is there.
_HEARS = "() => !(window[Symbol.for('leaving the page')]?.until > performance.now())"


def at_rest_and_hearing_keys(page: Page) -> None:
    """Wait until that is so and the page answers its keys: the arrows, P, F and ?."""
    expect(page.locator(".presenter .keys")).to_be_enabled()
    at_rest(page)
    page.wait_for_function(_HEARS, polling=_LOOK, timeout=PATIENCE)


def follow(page: Page, address: str) -> None:
    """Go to another address of the app that stands on this page, without reading the app's scripts anew.

    It is asked for a second time where nothing came: a page whose connection just then breaks off asks nobody. Where
    nothing comes again, the run may have been over before the page was drawn and have changed nothing: the page is read
    anew, and what is looked for must be on it.
    """
    at_rest(page)
    for patience in (PATIENCE / 10, PATIENCE / 10):
        page.evaluate(_FOLLOW, address)
        with contextlib.suppress(TimeoutError):
            page.wait_for_function(
                "window.answered || location.href !== window.followed", polling=_LOOK, timeout=patience
            )
            break
    else:
        page.reload()
    at_rest(page)
