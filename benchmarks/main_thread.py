"""How long a page's main thread computes at a stretch, in processor time: what else a machine does is not in it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page


@contextmanager
def main_thread_tasks(browser: Browser, page: Page) -> Iterator[list[float]]:
    """Record the tasks of a page in a Chromium; the list has the processor's milliseconds of each once all is over."""
    found: list[float] = []
    browser.start_tracing(page=page, categories=["toplevel", "disabled-by-default-devtools.timeline"])
    yield found
    events = json.loads(browser.stop_tracing())["traceEvents"]
    named = [each for each in events if each.get("name") == "thread_name" and each["args"]["name"] == "CrRendererMain"]
    threads = {(each["pid"], each["tid"]) for each in named}
    tasks = (each for each in events if each.get("ph") == "X" and each["name"].endswith("RunTask"))
    found += [each["tdur"] / 1e3 for each in tasks if (each["pid"], each["tid"]) in threads and "tdur" in each]
