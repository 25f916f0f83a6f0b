"""Work of visitors without a browser, beside Playwright's loop."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future, ThreadPoolExecutor


def aside(work: Coroutine) -> Future:
    """Run a coroutine in a thread of its own: Playwright's loop has the caller's."""
    with_loop = ThreadPoolExecutor(1)
    future = with_loop.submit(asyncio.run, work)
    with_loop.shutdown(wait=False)
    return future
