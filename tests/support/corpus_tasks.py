"""Functions of a model and an item that other processes import."""

import os
import signal

from transformer.errors import DataError


def identity_but_refused(translator, item: int) -> int:
    """Return the item; refuse 3."""
    if item == 3:
        raise DataError("three is refused")
    return item


def identity_but_killed(translator, item: int) -> int:
    """Return the item; kill the process for 3."""
    if item == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return item
