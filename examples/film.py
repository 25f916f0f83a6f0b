"""Film of a whole pass for the README: python -m examples.film docs/whole_pass.gif"""

import io
import sys
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from benchmarks.visit import launch, serve

SENTENCE = "The cat is hungry because it has not eaten."
SECONDS, FRAMES_PER_SECOND = 20, 6
LINGER = 3000  # milliseconds of the last frame
COLOURS = 256


def film(path: Path) -> None:
    """Play the whole pass frame by frame on a clock of our own, and write an animated GIF."""
    with serve("app.py") as server, sync_playwright() as playwright:
        page = launch(playwright).new_page(viewport={"width": 1200, "height": 640})
        page.goto(f"{server.address}/inside?text={SENTENCE}&moment=1")
        page.locator(".whole_pass .parts button").first.wait_for(timeout=120_000)
        page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
        page.clock.install()
        page.clock.pause_at(page.evaluate("Date.now()") + 1000)
        page.locator(".whole_pass .last").click()
        page.locator(".whole_pass .play").click()  # from the beginning
        frames = [_frame(page) for _ in range(SECONDS * FRAMES_PER_SECOND)]
    some = np.vstack([np.asarray(frame) for frame in frames[::8]])
    palette = Image.fromarray(some).quantize(
        COLOURS, Image.Quantize.MAXCOVERAGE
    )  # one for all frames: what stands still costs nothing
    first, *others = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    durations = [1000 // FRAMES_PER_SECOND] * len(others) + [LINGER]
    first.save(path, save_all=True, append_images=others, duration=durations, loop=0, optimize=True)


def _frame(page: Page) -> Image.Image:
    """Return the next frame, the picture and its sentence."""
    page.clock.run_for(1000 // FRAMES_PER_SECOND)
    box = page.locator(".whole_pass .stage").bounding_box()
    assert box, "the picture is on the page"
    clip = {**box, "height": box["height"] + 45}
    return Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB")


if __name__ == "__main__":
    film(Path(sys.argv[1]))
