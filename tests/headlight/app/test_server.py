"""The server beside its answers."""

import subprocess
import sys

# In a process of its own: what else a process of the tests does moves its memory. Blocks are so small that glibc keeps
# them when they are freed, 131 MB in all; the last one lies above all others, so that the heap cannot shrink below it.
CODE = """
import asyncio
from pathlib import Path

import numpy as np

from headlight.app.server import give_memory_back

BLOCK, BLOCKS = 2**16, 2000


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


async def once():
    task = asyncio.create_task(give_memory_back(0.0))
    while resident() > full - BLOCK * BLOCKS // 2:
        await asyncio.sleep(0)
    task.cancel()


blocks = [np.ones(BLOCK // 8) for _ in range(BLOCKS)]
keeper = blocks[-1]
full = resident()
del blocks
asyncio.run(once())
assert keeper.all()
"""


def test_memory_of_results_that_are_gone_goes_back_to_the_system():
    subprocess.run([sys.executable, "-c", CODE], check=True, timeout=60)
