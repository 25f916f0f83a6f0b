"""The live model while one types, and while all heads are ablated: the page's main thread is left alone."""

import pytest
from playwright.sync_api import Page, expect
from support.rounded import rounded_translator
from support.streams import CHECKPOINTS
from support.until import until

from benchmarks.main_thread import main_thread_tasks
from headlight.views.live.content import live_file
from transformer.checkpoint import load_checkpoint

NAME = "en-de"
TYPED = "The man told us a long story about the sea and the ships that never came back to the old harbour."
LONGEST = 50  # milliseconds of the processor in a row, from which on a key waits noticeably
VIEWS = ("home", "attention", "decoding", "heads", "inside")


@pytest.fixture(scope="module")
def file() -> str:
    return live_file(load_checkpoint(CHECKPOINTS / NAME), NAME, text="She reads a book.")


def open_view(page: Page, view: str) -> None:
    expect(page.locator("#live_translation")).not_to_be_empty()
    page.locator(f"[data-tab={view}]").click()
    expect(page.locator(f"body[data-shown={view}]")).to_be_attached()


def test_typing_never_stalls_in_any_view(browser, open_alone, file):
    translation = rounded_translator(NAME).trace(TYPED).target_text
    page = open_alone(file)
    for view in VIEWS:
        open_view(page, view)
        page.locator("#live_text").fill("")
        with main_thread_tasks(browser, page) as tasks:
            page.locator("#live_text").press_sequentially(TYPED, delay=20)
            expect(page.locator("#live_translation")).to_have_text(translation)
        assert tasks
        assert max(tasks) < LONGEST, view


def test_a_second_worker_is_there_only_while_heads_are_ablated(open_alone, file):
    page = open_alone(file)
    open_view(page, "home")
    assert len(page.workers) == 1
    started: list[object] = []
    page.on("worker", lambda worker: started.append(worker))
    open_view(page, "heads")
    expect(page.locator("td button")).to_have_count(72)
    until(lambda: len(started) == 1 or page.wait_for_timeout(100))
    until(lambda: len(page.workers) == 1 or page.wait_for_timeout(100))
