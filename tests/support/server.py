"""The real app, started as a user starts it."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]


@contextmanager
def serve() -> Iterator[str]:
    """Run `streamlit run app.py` on a free port; yields its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={port}", "--server.headless=true"]
    server = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "HEADLIGHT_DEVICE": "cpu"})
    address = f"http://localhost:{port}"
    try:
        _wait_for(f"{address}/_stcore/health", server)
        yield address
    finally:
        server.terminate()
        server.wait(timeout=20)


def _wait_for(url: str, server: subprocess.Popen, seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert server.poll() is None, "the app's server ended"
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    raise TimeoutError(f"{url} did not answer")
