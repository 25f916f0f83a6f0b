"""A page on which what the live page's JavaScript says is to be had by name: see tests/javascript/payloads.js."""

import json
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Page

from headlight.components.bundle import joined

_PAYLOADS = Path(__file__).parents[1] / "javascript" / "payloads.js"


def payloads_page(browser: Browser) -> Iterator[Page]:
    """Open the page, and close it in the end."""
    context = browser.new_context()
    page = context.new_page()
    modules, (face,) = joined(_PAYLOADS)
    page.evaluate(f"{modules}globalThis.payloads = {face};")
    yield page
    context.close()


def asked(payloads: Page, name: str, *given: object) -> object:
    """Return what `payloads` says; tuples are lists in JSON, on both sides.

    It travels as text: Playwright looks at a list number by number, for most of the time that these tests took.
    """
    ask = f"given => JSON.stringify(payloads.{name}(...JSON.parse(given))) ?? 'null'"
    return json.loads(payloads.evaluate(ask, json.dumps(given)))
