"""The command `film`: the whole pass of a sentence as a film, recorded in a browser without a window."""

import argparse
import io
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from headlight.language import ENGLISH, LANGUAGES, speaking
from transformer.commands.corpus import check_out
from transformer.commands.options import AddCommand, addressing, strategy_of
from transformer.commands.translating import add_sentence, write_result
from transformer.errors import UserError
from transformer.files import write_atomically

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Playwright

_NO_BROWSER = "A film needs a browser: pip install playwright && python -m playwright install chromium."
_FRAMES, _PER_SECOND, _LINGER = 120, 6, 3000  # of a GIF; milliseconds of its last frame


def add_commands(command: AddCommand) -> None:
    """Add the command of this file."""
    film = command("film", _film, "write the whole pass of one sentence as a film of twenty seconds")
    add_sentence(film, ".webm or .gif")
    film.add_argument("--ui", choices=LANGUAGES, default=ENGLISH, help="the language of all but the sentences (en)")


def _film(options: argparse.Namespace) -> None:
    """Record the film of a sentence in the app's font, write it, and print the translation."""
    from .components.live import font_style

    films = {".webm": _webm, ".gif": _gif}
    check_out(options.out)
    if options.out.suffix not in films:
        raise UserError(f"A film ends in {' or '.join(films)}: {options.out.name} does not.")
    try:
        from playwright.sync_api import Error, sync_playwright
    except ModuleNotFoundError as error:
        raise UserError(_NO_BROWSER) from error
    html, translation = _page(options)
    try:
        with sync_playwright() as playwright:
            page = launch(playwright).new_page(viewport={"width": 1200, "height": 640}, bypass_csp=True)
            page.set_content(html)
            page.add_style_tag(content=font_style())
            page.evaluate("document.fonts.load('16px \"Source Sans 3\"')")
            page.locator(".parts button").first.wait_for()
            content = films[options.out.suffix](page)
    except Error as error:
        reason = error.message.splitlines()[0]
        raise UserError(_NO_BROWSER if "Executable" in reason else f"No film was made: {reason}") from error
    write_result(options.out, lambda path: write_atomically(path, content))
    print(translation)


def _page(options: argparse.Namespace) -> tuple[str, str]:
    """Return a page with the moving picture of a sentence, which stands still at its beginning, and the translation."""
    from transformer.interpret.study import Study
    from transformer.translator import Decoding, Translator

    from .components.standalone import Words, standalone
    from .views.inside.whole_pass_content import pass_facts

    translator = Translator.load(options.checkpoint, options.device)
    text = translator.addressed(options.text, *addressing(options))
    study = Study.record(translator, text, Decoding(strategy_of(options)), options.target)
    facts = pass_facts(study.trace, study.stream(), translator.model, moment="1")
    with speaking(options.ui):
        return standalone("whole_pass/pass", facts, Words("Headlight")), study.trace.target_text


def launch(playwright: "Playwright") -> "Browser":
    """Return the system's Chromium, else Playwright's own."""
    names = ("chromium", "chromium-headless-shell", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    return playwright.chromium.launch(executable_path=path, args=options)


def _webm(page: "Page") -> bytes:
    """Press the picture's own button, and show how far it is."""
    with page.expect_download(timeout=120_000) as saving:
        page.locator(".film").click()
        while not saving.is_done():
            print(f"\r{page.locator('.film').inner_text()}", end="", file=sys.stderr, flush=True)
            page.wait_for_timeout(1000)
    print(file=sys.stderr)
    return Path(saving.value.path()).read_bytes()


def _gif(page: "Page") -> bytes:
    """Play the picture frame by frame on a clock of our own."""
    import numpy as np
    from PIL import Image

    page.clock.install()
    page.clock.pause_at(page.evaluate("Date.now()") + 1000)
    page.locator(".last").click()
    page.locator(".play").click()  # from the beginning
    frames, box = [], page.locator(".stage").bounding_box()
    assert box, "the picture is on the page"
    box["height"] += 45  # of its sentence
    for _ in range(_FRAMES):
        page.clock.run_for(1000 // _PER_SECOND)
        frames.append(Image.open(io.BytesIO(page.screenshot(clip=box))).convert("RGB"))
    some = Image.fromarray(np.vstack([np.asarray(frame) for frame in frames[::8]]))
    palette = some.quantize(256, Image.Quantize.MAXCOVERAGE)  # one for all frames: what stands still costs nothing
    first, *others = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    durations, file = [1000 // _PER_SECOND] * len(others) + [_LINGER], io.BytesIO()
    first.save(file, "GIF", save_all=True, append_images=others, duration=durations, loop=0, optimize=True)
    return file.getvalue()
