"""The real app, started as a user starts it."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).parents[2]


@contextmanager
def serve(**environment: str) -> Iterator[str]:
    """Run `streamlit run app.py` on a free port, with these variables; yields its address."""
    port = free_port()
    server = start(port, **environment)
    address = f"http://localhost:{port}"
    try:
        wait_for(f"{address}/_stcore/health", server)
        yield address
    finally:
        server.terminate()
        server.wait(timeout=300)


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def start(port: int, folder: Path = ROOT, **environment: str) -> subprocess.Popen:
    """Run `streamlit run app.py` in a folder that has the app, with these variables; it is not ready at once."""
    command = [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={port}", "--server.headless=true"]
    return subprocess.Popen(command, cwd=folder, env=os.environ | {"HEADLIGHT_DEVICE": "cpu"} | environment)


def is_alive(pid: int) -> bool:
    """Return whether a process runs and is no zombie: a container may never reap orphans."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def wait_for(url: str, server: subprocess.Popen, seconds: float = 300) -> None:
    """Wait until a process answers at this address."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert server.poll() is None, "the server ended"
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    raise TimeoutError(f"{url} did not answer")


Value = TypeVar("Value")


def until(look: Callable[[], Value], seconds: float = 300.0) -> Value:
    """Return the first true value of `look`; fail after some seconds."""
    deadline = time.monotonic() + seconds
    while not (value := look()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
    return value
