"""States of a page to wait for, its accessibility, and components without the app."""

import contextlib
from base64 import b64encode
from urllib.parse import quote

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, TimeoutError, expect
from support.chromium import PATIENCE

from headlight.components.bundle import FOLDER, bundle, read_parts

_LOOK = 100  # milliseconds from look to look: looking at every frame makes the browser draw every frame

# What is left of the run before fades out, and what comes anew fades in: until then the colours are neither's.
_STANDS = """() => document.querySelector("[data-testid=stApp]")?.dataset.testScriptState === "notRunning"
    && document.querySelector("[data-testid=stApp]").dataset.testConnectionState === "CONNECTED"
    && !document.querySelector("[data-stale=true]")
    && !document.getAnimations().some(each => each instanceof CSSTransition && each.playState === "running")"""
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
    """Wait until the server has nothing more to send for this page, and no colour fades any more."""
    page.wait_for_function(_STANDS, polling=_LOOK, timeout=PATIENCE)


# Other sizes are observed in a frame, and their consequences drawn in the next.
_DRAWN = """() => new Promise(done => {
    let frames = 4;
    const next = () => (frames-- ? requestAnimationFrame(next) : done());
    next();
})"""


def wait_for_frames(page: Page) -> None:
    """Wait until the consequences of a change, such as another size of the window, are drawn."""
    page.evaluate(_DRAWN)


def go_back(page: Page) -> None:
    """Go back from an idle page: a run under way would write a newer address."""
    wait_until_idle(page)
    page.go_back()


# A page that is being left hears nothing (components/lib/leaving.js): after Back until the other one is there.
_HEARS = "() => !(window[Symbol.for('leaving the page')]?.until > performance.now())"


def wait_for_keys(page: Page) -> None:
    """Wait until the page is idle and answers its keys: the arrows, P, F and ?."""
    expect(page.locator(".presenter .keys")).to_be_enabled()
    wait_until_idle(page)
    page.wait_for_function(_HEARS, polling=_LOOK, timeout=PATIENCE)


def follow(page: Page, address: str) -> None:
    """Go to another address of the open app without loading its scripts again.

    Repeat without an answer: the connection may have been lost. Reload without a second answer: a run that changes
    nothing leaves no trace on the page.
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


# True when no colour is on its way to another one: axe would read one in between.
_SETTLED = """() => {
  const roots = [document, ...[...document.querySelectorAll('*')].map((each) => each.shadowRoot).filter(Boolean)];
  return !roots.flatMap((root) => root.getAnimations()).some((each) => each instanceof CSSTransition);
}"""


def accessibility_problems(page: Page) -> list[str]:
    """Return the grave findings of axe, and a page wider than its screen."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(_AXE)
    page.wait_for_function(_SETTLED)
    problems = page.evaluate(_GRAVE)
    if page.evaluate(_TOO_WIDE):
        problems.append("the page is wider than the screen")
    return problems


def expect_accessible(page: Page) -> None:
    """Fail with all accessibility problems of the page."""
    problems = accessibility_problems(page)
    assert not problems, "\n".join(problems)


_BARE = "http://component.test/"
_PAGE_STYLE = FOLDER / "standalone_page" / "page.css"
_MOUNT = """async (script) => {
    const component = await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
    const parentElement = document.querySelector("main");
    const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    window.reports = [];
    const setTriggerValue = (...report) => window.reports.push(report);
    window.receive = (data) => component.default({
        parentElement, data: typeof data === "string" ? bytes(data) : data, setTriggerValue
    });
}"""


def mount(page: Page, entry: str, data: dict | bytes) -> None:
    """Show a component alone, by an entry such as "replay_player/player"; window.reports has what it reports."""
    parts = read_parts(entry)
    style = f"{_PAGE_STYLE.read_text(encoding='utf-8')}{parts.style}.player .asks {{ display: revert; }}"
    head = f"<!doctype html><html lang=en><meta name=viewport content=width=device-width><title>{entry}</title>"
    body = f"{head}<style>{style}</style><h1>Component</h1><main>{parts.markup}</main>"
    page.route(_BARE, lambda route: route.fulfill(content_type="text/html; charset=utf-8", body=body))
    page.goto(_BARE)
    page.evaluate(_MOUNT, bundle(parts.module))
    send_data(page, data)


def send_data(page: Page, data: dict | bytes) -> None:
    """Give the mounted component other data, as a run of the app does."""
    page.evaluate("data => { window.receive(data); }", b64encode(data).decode() if isinstance(data, bytes) else data)


# The event of a new address comes later than the address; the view that is drawn after it is of that address.
_GO = """hash => new Promise(done => {
    const before = location.hash;
    addEventListener("hashchange", () => {
        delete document.body.dataset.shown;
        done();
    }, { once: true });
    location.hash = hash;
    if (location.hash === before) done();
})"""


def go_to(page: Page, view: str, **query: str) -> None:
    """Give the one-file page an address, which may lead to another view, and wait for its event."""
    parameters = "&".join(f"{name}={quote(value)}" for name, value in query.items())
    page.evaluate(_GO, f"{view}?{parameters}")


def show(page: Page, view: str, **query: str) -> None:
    """Go to a view of the one-file page by an address, and wait until it is drawn."""
    go_to(page, view, **query)
    expect(page.locator(f"body[data-shown={view}]")).to_be_attached()
    wait_for_frames(page)
