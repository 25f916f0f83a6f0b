"""States of a page to wait for, its accessibility, and components without the app."""

import contextlib
from urllib.parse import quote

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, TimeoutError, expect
from support.chromium import PATIENCE

from headlight.components.bundle import bundle, read_parts

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


def wait_until_idle(page: Page) -> None:
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


def wait_for_frames(page: Page) -> None:
    """Wait until all that follows from what was just shown, or from another size of the window, is drawn."""
    page.evaluate(_DRAWN)


def go_back(page: Page) -> None:
    """Go back, once the page has come to rest: what a run under way still writes would be the newer address."""
    wait_until_idle(page)
    page.go_back()


# A page that is being left hears nothing (components/lib/leaving.js): after Back until the other one is there.
_HEARS = "() => !(window[Symbol.for('leaving the page')]?.until > performance.now())"


def wait_for_keys(page: Page) -> None:
    """Wait until that is so and the page answers its keys: the arrows, P, F and ?."""
    expect(page.locator(".presenter .keys")).to_be_enabled()
    wait_until_idle(page)
    page.wait_for_function(_HEARS, polling=_LOOK, timeout=PATIENCE)


def follow(page: Page, address: str) -> None:
    """Go to another address of the app that stands on this page, without reading the app's scripts anew.

    It is asked for a second time where nothing came: a page whose connection just then breaks off asks nobody. Where
    nothing comes again, the run may have been over before the page was drawn and have changed nothing: the page is read
    anew, and what is looked for must be on it.
    """
    wait_until_idle(page)
    for patience in (PATIENCE / 10, PATIENCE / 10):
        page.evaluate(_FOLLOW, address)
        with contextlib.suppress(TimeoutError):
            page.wait_for_function(
                "window.answered || location.href !== window.followed", polling=_LOOK, timeout=patience
            )
            break
    else:
        page.reload()
    wait_until_idle(page)


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


def accessibility_problems(page: Page) -> list[str]:
    """What keeps someone from using the page as it stands; empty when nothing does."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(_AXE)
    found = page.evaluate(_GRAVE)
    if page.evaluate(_TOO_WIDE):
        found.append("the page is wider than the screen")
    return found


def expect_accessible(page: Page) -> None:
    """Fails with what keeps someone from using the page as it stands."""
    found = accessibility_problems(page)
    assert not found, "\n".join(found)


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


def record_texts(within: Locator, selector: str) -> None:
    """Note the text, and from here on each text, that the elements of a selector have in turn while they are seen.

    They are looked for in the tree that `within` is in, a component's or the page's.
    """
    within.evaluate(_LISTEN, selector)


def texts_shown(page: Page) -> list[str]:
    """Return the text that stood there when `listen` was called, and those since."""
    return page.evaluate("window.heard")


def mount(page: Page, entry: str, data: dict) -> None:
    """The component of an entry such as "replay_player/player", with its first data."""
    parts = read_parts(entry)
    page.set_content(f"<style>{parts.style}</style><div id=place>{parts.markup}</div>")
    page.evaluate(
        """async (script) => {
          const component = await import(URL.createObjectURL(new Blob([script], {type: "text/javascript"})));
          const parentElement = document.getElementById("place");
          window.told = [];
          const setTriggerValue = (name, value) => window.told.push([name, value]);
          window.receive = (data) => { component.default({ parentElement, data, setTriggerValue }); };
        }""",
        bundle(parts.module),
    )
    send_data(page, data)


def send_data(page: Page, data: dict) -> None:
    """The component is given other data, as after a run."""
    page.evaluate("data => window.receive(data)", data)


# The page hears of another address a moment after it was written. What is drawn from there on is of that address.
_GO = """hash => new Promise(done => {
    const before = location.hash;
    addEventListener("hashchange", () => {
        delete document.body.dataset.shown;
        done();
    }, { once: true });
    location.hash = hash;
    if (location.hash === before) done();
})"""


def go_to(page: Page, view: str, **said: str) -> None:
    """Write an address into the page, which need not stay at that view, and wait until the page has heard of it."""
    query = "&".join(f"{name}={quote(value)}" for name, value in said.items())
    page.evaluate(_GO, f"{view}?{query}")


def show(page: Page, view: str, **said: str) -> None:
    """Go to a view by an address, and wait until it is shown as the address asks."""
    go_to(page, view, **said)
    expect(page.locator(f"body[data-shown={view}]")).to_be_attached()
    wait_for_frames(page)
