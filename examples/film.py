"""Film of the home page for the README: python -m examples.film docs/home.gif"""

import io
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from benchmarks.visit import launch, serve

SENTENCE = "The cat is hungry because it has not eaten."
HIDDEN = ("not", "hungry")
SECONDS = 2.5  # per frame


def film(path: Path) -> None:
    """Open the home page, hide one word after the other, and write the frames as an animated GIF."""
    with serve("app.py") as server, sync_playwright() as playwright:
        page = launch(playwright).new_page(viewport={"width": 1200, "height": 640})
        page.goto(f"{server.address}/?text={SENTENCE}")
        page.get_by_role("button", name="source token 1").first.wait_for(timeout=120_000)
        frames = [_frame(page)]
        for word in HIDDEN:
            button = page.get_by_role("button", name=f"{word}”, source token")
            button.click()
            frames.append(_frame(page))
            button.click()  # shows it again
            _frame(page)
    first, *others = frames
    first.save(path, save_all=True, append_images=others, duration=round(SECONDS * 1000), loop=0, optimize=True)


def _frame(page: Page) -> Image.Image:
    """Return the page, once nothing runs, in few colours."""
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    page.wait_for_timeout(1500)  # lines move slowly to their new places
    return Image.open(io.BytesIO(page.screenshot())).convert("P", palette=Image.Palette.ADAPTIVE, colors=64)


if __name__ == "__main__":
    film(Path(sys.argv[1]))
