"""Limit of open files: a visitor's websocket takes four, and connections beyond the limit get no answer."""

import contextlib
import logging
import math

try:
    import resource
except ImportError:  # Windows, which has no such limit
    resource = None  # type: ignore[assignment]

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

logger = logging.getLogger(__name__)

_LIMITS = (65_536, 10_240, 4096)  # in this order; macOS mostly allows a process no more than 10,240
_LOW = 4096
_FULL, _RETRY = "This server is full: please try again in a minute.", {"Retry-After": "60"}
FILES_PER_VISITOR = 4
RESERVE = 64  # files of the server itself, and of requests


def raise_limit() -> None:
    """Raise the limit of open files of this process as far as the system allows; warn in the log if it stays low."""
    if resource is None:
        return
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    for number in _LIMITS:
        number = number if most == resource.RLIM_INFINITY else min(number, most)
        if _is_less(limit, number):
            with contextlib.suppress(OSError, ValueError):  # more than the system allows
                resource.setrlimit(resource.RLIMIT_NOFILE, (number, most))
                limit = number
    if _is_less(limit, _LOW):
        words = "This server may open %d files, enough for %d visitors: raise `ulimit -Hn`."
        logger.warning(words, limit, _visitors(limit))


def most_visitors() -> float:
    """Return how many websockets the limit of open files allows."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if resource else None
    return math.inf if limit is None or limit == resource.RLIM_INFINITY else _visitors(limit)


def _visitors(limit: int) -> int:
    return max(1, (limit - RESERVE) // FILES_PER_VISITOR)


class HandshakeLimit:
    """ASGI middleware that refuses websockets, by 503, beyond the number that the limit of open files allows.

    A visitor who was admitted keeps files for their runs, however many silent websockets are open.
    """

    def __init__(self, app: ASGIApp):
        self._app, self._open = app, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            await self._app(scope, receive, send)
        elif self._open >= most_visitors():
            await WebSocket(scope, receive, send).send_denial_response(PlainTextResponse(_FULL, 503, _RETRY))
        else:
            self._open += 1
            try:
                await self._app(scope, receive, send)
            finally:
                self._open -= 1


def _is_less(limit: int, number: int) -> bool:
    return limit != resource.RLIM_INFINITY and limit < number
