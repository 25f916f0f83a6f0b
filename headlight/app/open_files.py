"""How many files this process may have open: each visitor's websocket takes four, and what is refused for want of them
gets no answer at all.
"""

import contextlib
import logging
import os

try:
    import resource
except ImportError:  # Windows, which has no such limit
    resource = None  # type: ignore[assignment]

logger = logging.getLogger(__name__)

_WANTED = (65_536, 10_240, 4096)  # the most that is asked for; macOS gives no process more than the second, mostly
_LOW = 4096
_A_VISITOR = 4  # files
_RESERVE = 96  # that are kept for files of checkpoints, trainings, and those who are told that there is no room


def raise_limit() -> None:
    """Raise this process's limit of open files towards what it may raise it to; say in the log where it stays low."""
    if resource is None:
        return
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    for wanted in _WANTED:
        wanted = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        if _is_less(limit, wanted):
            with contextlib.suppress(OSError, ValueError):  # more than the system gives
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
                limit = wanted
    if _is_less(limit, _LOW):
        visitors = max(0, limit - _RESERVE) // _A_VISITOR
        logger.warning("This server may open %d files, enough for %d visitors: raise `ulimit -Hn`.", limit, visitors)


def has_room() -> bool:
    """Return whether one more visitor can be served; True where nobody can tell."""
    if resource is None:
        return True
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        return not _is_less(limit, len(os.listdir("/dev/fd")) + _RESERVE)
    except OSError:
        return True


def _is_less(limit: int, number: int) -> bool:
    return limit != resource.RLIM_INFINITY and limit < number
