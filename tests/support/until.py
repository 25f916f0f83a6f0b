"""Waiting in a test for what other threads or processes do."""

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")


def until(look: Callable[[], Found], seconds: float = 300.0) -> Found:
    """What `look` finds, as soon as it finds anything; fails where that takes longer."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
    return found
