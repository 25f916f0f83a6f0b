"""The live model while a visitor types, and its second worker while all heads are ablated."""

import pytest
from playwright.sync_api import Page, expect
from support.server import until
from support.traces import CHECKPOINTS, rounded_translator

from headlight.views.live.content import live_file
from transformer.checkpoint import load_checkpoint

NAME = "en-de"
TYPED = "The man told us a long story about the sea and the ships that never came back to the old harbour."
VIEWS = ("home", "attention", "decoding", "heads", "inside")


@pytest.fixture(scope="module")
def file() -> str:
    return live_file(load_checkpoint(CHECKPOINTS / NAME), NAME, text="She reads a book.")


def open_view(page: Page, view: str) -> None:
    expect(page.locator("#live_translation")).not_to_be_empty()
    page.locator(f"[data-tab={view}]").click()
    expect(page.locator(f"body[data-shown={view}]")).to_be_attached()


@pytest.mark.parametrize("view", VIEWS)
def test_quick_typing_ends_with_the_translation_of_all_that_was_typed(view, open_alone, file):
    page = open_alone(file)
    open_view(page, view)
    page.locator("#live_text").fill("")
    page.locator("#live_text").press_sequentially(TYPED)
    expect(page.locator("#live_translation")).to_have_text(rounded_translator(NAME).trace(TYPED).target_text)


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
