"""A way in for phones where the app listens to its own computer alone: the class's routes on a port of their own.

It is open while there is a class. From the network nothing but the phones' page and its state can be reached.
"""

import contextlib
import functools
import os
import socket
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from .opening import PORT_VARIABLE, open_store
from .store import StoreError

if TYPE_CHECKING:
    import uvicorn

    from .sqlite_store import SqliteStore

_FIRST, _TRIED = 8601, 20  # ports that are tried without the variable
_LOOKS = 5.0  # seconds between two looks whether a class goes on
_IDLE_LOOKS = 3  # looks without a class until the port closes: phones learn meanwhile that their class is over


class PhonesServer:
    """Server of the class's routes, in a thread of its own.

    looks: seconds between two looks whether a class goes on.
    """

    def __init__(self, store: Callable[[], "SqliteStore"] = open_store, host: str = "0.0.0.0", looks: float = _LOOKS):
        self._store, self._host, self._looks = store, host, looks
        self._lock = threading.Lock()
        self._server: uvicorn.Server | None = None
        self._port = 0

    def open(self) -> int:
        """Listen, until no class goes on; return the port, 0 where none is free or the administrator has closed it."""
        with self._lock:
            if self._server is None or self._server.should_exit:
                listening = self._bind()
                self._port = listening.getsockname()[1] if listening else 0
                self._server = self._serve(listening) if listening else None
            return self._port

    def _bind(self) -> socket.socket | None:
        for port in allowed_ports():
            with contextlib.suppress(OSError):
                return socket.create_server((self._host, port))
        return None

    def _serve(self, listening: socket.socket) -> "uvicorn.Server":
        """Start to answer phones, until no class goes on, and return the server."""
        import uvicorn
        from starlette.applications import Starlette

        from .routes import class_routes

        routes = class_routes(self._store, with_app=False)
        settings = uvicorn.Config(
            Starlette(routes=routes),
            log_level="error",
            access_log=False,
            proxy_headers=False,  # phones come by themselves
            timeout_keep_alive=30,
            timeout_graceful_shutdown=2,  # a phone may have left in the middle of a request
        )
        server = uvicorn.Server(settings)
        serving = threading.Thread(target=server.run, args=([listening],), daemon=True)

        def stop_after_the_last_class() -> None:
            idle = 0
            while idle < _IDLE_LOOKS and serving.is_alive():
                time.sleep(self._looks)
                with contextlib.suppress(StoreError):
                    idle = 0 if self._store().has_classes() else idle + 1
            server.should_exit = True

        serving.start()
        threading.Thread(target=stop_after_the_last_class, daemon=True).start()
        return server


def allowed_ports() -> list[int]:
    """Return the ports that phones may have, in the order in which they are tried; none where they are kept out."""
    chosen = os.environ.get(PORT_VARIABLE, "")
    if not chosen:
        return list(range(_FIRST, _FIRST + _TRIED))
    return [int(chosen)] if chosen.isdecimal() and 0 < int(chosen) < 2**16 else []


@functools.cache
def phones_server() -> PhonesServer:
    """Return this process's server for phones."""
    return PhonesServer()
