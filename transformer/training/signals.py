"""Stopping a long computation where it may be stopped, and not in the middle of something."""

import contextlib
import logging
import signal
import threading
import time
from collections.abc import Iterator

logger = logging.getLogger(__name__)

_ONE_INTERRUPTION = 2.0  # seconds; torchrun hands on to a process what the terminal has already sent it


@contextlib.contextmanager
def interruptions_held() -> Iterator[threading.Event]:
    """Within the block SIGINT and SIGTERM set the event, so that no step is left half done; a later one raises.

    Other threads than the main one receive no signals and may not set handlers: nothing is held there.
    """
    asked = threading.Event()
    last = time.monotonic()

    def hold(number, frame) -> None:
        nonlocal last
        if not asked.is_set():
            logger.info("stopping after this step; interrupt again to stop at once")
            asked.set()
            last = time.monotonic()
        elif time.monotonic() - last > _ONE_INTERRUPTION:
            raise KeyboardInterrupt

    numbers = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    before = [(number, signal.signal(number, hold)) for number in numbers]
    try:
        yield asked
    finally:
        for number, handler in before:
            signal.signal(number, handler)
