"""Limit of open files: each visitor's websocket takes four, and a connection beyond the limit gets no answer at all."""

import contextlib
import logging

try:
    import resource
except ImportError:  # Windows, which has no such limit
    resource = None  # type: ignore[assignment]

logger = logging.getLogger(__name__)

_WANTED = (65_536, 10_240, 4096)  # tried in this order; macOS mostly gives a process no more than 10,240
_LOW = 4096
FILES_PER_VISITOR = 4


def raise_limit() -> None:
    """Raise the limit of open files of this process as far as the system allows; warn in the log if it stays low."""
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
        visitors = limit // FILES_PER_VISITOR
        logger.warning("This server may open %d files, enough for %d visitors: raise `ulimit -Hn`.", limit, visitors)


def _is_less(limit: int, number: int) -> bool:
    return limit != resource.RLIM_INFINITY and limit < number
