"""The server beside its answers."""

import asyncio
from pathlib import Path

import numpy as np

from headlight.app.server import give_memory_back

BLOCK, BLOCKS = 2**16, 2000  # bytes of one, which glibc keeps when it is freed; 131 MB in all


def resident() -> int:
    """Return the pages of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def test_memory_of_results_that_are_gone_goes_back_to_the_system():
    async def once() -> None:
        task = asyncio.create_task(give_memory_back(0.0))
        while resident() > full - BLOCK * BLOCKS // 2:
            await asyncio.sleep(0)
        task.cancel()

    blocks = [np.ones(BLOCK // 8) for _ in range(BLOCKS)]
    keeper = blocks[-1]  # above all others: the heap cannot shrink below it
    full = resident()
    del blocks
    asyncio.run(asyncio.wait_for(once(), 20))
    assert keeper.all()
