"""The server's threads share two of glibc's arenas, so that what one has freed serves the next."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
# Thirty threads that hold memory at the same time, and glibc's own account of its arenas.
COUNT = """
import ctypes, sys, threading
libc = ctypes.CDLL(None)
libc.malloc.restype = libc.fopen.restype = ctypes.c_void_p
together = threading.Barrier(30)
def hold():
    together.wait()
    libc.malloc(50_000)
    together.wait()
threads = [threading.Thread(target=hold) for _ in range(30)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
file = ctypes.c_void_p(libc.fopen(b"/dev/stdout", b"w"))
libc.malloc_info(0, file)
libc.fclose(file)
"""


def arenas(begin: str, **environment: str) -> int:
    """How many arenas such threads have in a process that begins with this."""
    own = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
    done = subprocess.run(
        [sys.executable, "-c", begin + COUNT],
        cwd=ROOT,
        env=own | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return len(re.findall(r"<heap nr=", done.stdout))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's arenas")
def test_thirty_threads_share_two_arenas_unless_the_environment_says_how_many():
    loading = "import headlight.app.main"
    assert arenas("") > 3, "without it there are more"
    assert arenas(loading) <= 3
    assert arenas(loading, MALLOC_ARENA_MAX="5") == 5
