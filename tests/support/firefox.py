"""Firefox without a network, driven by its own protocol (Marionette)."""

import json
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from support.server import free_port, until

NAMES = ("firefox-esr", "firefox")
PATIENCE = 300  # seconds, on a busy machine
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key of an element in WebDriver's JSON
_PREFERENCES = {
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.page": 0,
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.proxy.type": 1,  # a proxy that is not there: nothing reaches a network
    **{f"network.proxy.{scheme}": "127.0.0.1" for scheme in ("http", "ssl", "socks")},
    **{f"network.proxy.{scheme}_port": 9 for scheme in ("http", "ssl", "socks")},
    "network.proxy.allow_hijacking_localhost": True,
    "toolkit.startup.max_resumed_crashes": -1,
    "ui.prefersReducedMotion": 1,
}


class Firefox:
    """A window, and its messages: "LENGTH:[type, number, error or command, result or arguments]"."""

    def __init__(self, port: int):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self._received = b""
        self._last = 0
        self._read()  # it greets
        self.ask("WebDriver:NewSession", capabilities={"alwaysMatch": {}})

    def ask(self, command: str, **arguments: object) -> Any:
        """Return what a command of WebDriver gives; raises AssertionError with what went wrong."""
        self._last += 1
        text = json.dumps([0, self._last, command, arguments]).encode()
        self._socket.sendall(str(len(text)).encode() + b":" + text)
        _, number, error, result = self._read()
        assert number == self._last and not error, error
        return result.get("value", result) if isinstance(result, dict) else result

    def open(self, path: Path) -> None:
        """Open a file and wait until it is read."""
        self.ask("WebDriver:Navigate", url=path.as_uri())

    def evaluate(self, script: str, *arguments: object) -> Any:
        """Return what a function's body gives on the page, with these `arguments`."""
        return self.ask("WebDriver:ExecuteScript", script=script, args=list(arguments), sandbox=None)

    def wait_for(self, script: str, *arguments: object) -> Any:
        """Wait until a function's body gives something on the page, and return that."""
        return until(lambda: self.evaluate(script, *arguments), PATIENCE)

    def type(self, selector: str, text: str) -> None:
        """Write a text into a field, letter by letter, in place of what stands there."""
        element = self.ask("WebDriver:FindElement", using="css selector", value=selector)
        self.ask("WebDriver:ElementClear", id=element[_ELEMENT])
        self.ask("WebDriver:ElementSendKeys", id=element[_ELEMENT], text=text)

    def leave(self) -> None:
        """End the conversation."""
        self._socket.close()

    def _read(self) -> Any:
        while b":" not in self._received:
            self._receive()
        length, _, self._received = self._received.partition(b":")
        while len(self._received) < int(length):
            self._receive()
        message, self._received = self._received[: int(length)], self._received[int(length) :]
        return json.loads(message)

    def _receive(self) -> None:
        more = self._socket.recv(2**16)
        assert more, "Firefox has gone"
        self._received += more


@contextmanager
def firefox(folder: Path) -> Iterator[Firefox]:
    """The system's Firefox with a profile in this folder, as a visitor at a desk."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    assert program, f"no {' or '.join(NAMES)}: tests/run.sh installs one"
    port = free_port()
    preferences = {**_PREFERENCES, "marionette.port": port}
    lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in preferences.items())
    (folder / "user.js").write_text("\n".join(lines), encoding="utf-8")
    command = [program, "--headless", "--marionette", "--no-remote", "--profile", str(folder)]
    with (folder / "firefox.log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            browser = until(lambda: _connect(port), PATIENCE)
            yield browser
            browser.leave()
        finally:
            process.terminate()


def _connect(port: int) -> Firefox | None:
    with suppress(ConnectionRefusedError):
        return Firefox(port)
    return None
