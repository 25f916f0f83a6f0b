"""The server and its machine: child processes, the browser it opens, and the limit of open files."""

import asyncio
import contextlib
import os
import resource
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import websockets
from support.server import ROOT, free_port, is_alive, start, until, wait_for
from support.visitors import aside

from benchmarks.websocket_visitor import WebsocketVisitor
from headlight.app import open_files

pytestmark = pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="reads processes as Linux has them")

LARGE = {"task": "sort", "symbols_long": "20", "number_of_letters": "26", "toy_width": "128"}  # not learned at once
SOFT, HARD, SILENT = 200, 256, 90  # open files, and websockets of which nobody reads


@contextlib.contextmanager
def running(**environment: str) -> Iterator[tuple[subprocess.Popen, str]]:
    """Start a server; yield its process and its address, and kill it at the end."""
    port = free_port()
    server, address = start(port, **environment), f"http://localhost:{port}"
    try:
        wait_for(f"{address}/_stcore/health", server)
        yield server, address
    finally:
        server.kill()
        server.wait()


def processes_with(text: str) -> list[int]:
    """Return the processes whose command line contains a text."""
    pids = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if text.encode() in path.read_bytes():
                pids.append(int(path.parent.name))
    return [pid for pid in pids if is_alive(pid)]


def test_a_killed_server_takes_its_training_and_model_process_along(tmp_path):
    def model_processes() -> list[int]:
        spawned = processes_with("spawn_main")
        return [pid for pid in spawned if Path(f"/proc/{pid}/stat").read_text().split()[3] == str(server.pid)]

    async def visit() -> None:
        async with WebsocketVisitor(address, "training") as visitor:
            await visitor.arrive(training="train live", **LARGE)
            assert not (await visitor.press("Start training")).exceptions
            while not model_processes():
                await asyncio.gather(*(ask(f"I see {number} trees.") for number in range(8)))

    async def ask(text: str) -> None:
        async with WebsocketVisitor(address, "decoding") as visitor:
            assert not (await visitor.arrive(text=text)).exceptions

    with running(TMPDIR=str(tmp_path), HEADLIGHT_MODEL_PROCESS="1") as (server, address):
        aside(visit()).result(timeout=300)
        children = [*until(lambda: processes_with(str(tmp_path))), *model_processes()]
        assert len(children) >= 2
    until(lambda: not any(map(is_alive, children)))


def test_a_server_with_a_screen_opens_a_browser_at_its_address(tmp_path):
    opened, port = tmp_path / "opened", free_port()
    opened.touch()
    for name in ("xdg-open", "open"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho "$1" >> {opened}\n')
        (tmp_path / name).chmod(0o755)
    address, path = f"http://localhost:{port}", f"{tmp_path}:{os.environ['PATH']}"
    command = [sys.executable, "-m", "headlight", "app", "--port", str(port)]
    server = subprocess.Popen(command, cwd=ROOT, env=os.environ | {"DISPLAY": ":0", "PATH": path})
    try:
        wait_for(f"{address}/_stcore/health", server)
        until(opened.read_text)
    finally:
        server.terminate()
        server.wait()
    assert opened.read_text() == f"{address}\n"


def test_a_low_limit_of_open_files_is_raised_and_visitors_are_admitted_up_to_it():
    async def visit() -> None:
        url = f"{address.replace('http', 'ws')}/_stcore/stream"
        async with WebsocketVisitor(address, "decoding") as visitor:
            assert not (await visitor.arrive(text="I see a tree.")).exceptions
            assert resource.prlimit(server.pid, resource.RLIMIT_NOFILE) == (HARD, HARD)
            async with contextlib.AsyncExitStack() as sockets:
                connect = (sockets.enter_async_context(websockets.connect(url)) for _ in range(SILENT))
                outcomes = await asyncio.gather(*connect, return_exceptions=True)
                refused = [each for each in outcomes if isinstance(each, Exception)]
                assert {each.response.status_code for each in refused} == {503}
                assert len(refused) == SILENT + 1 - (HARD - open_files.RESERVE) // open_files.FILES_PER_VISITOR
                assert not (await visitor.ask("I see a dog.")).exceptions
                for path in ("/c", "/_stcore/health", "/"):
                    with await asyncio.to_thread(urllib.request.urlopen, address + path) as response:
                        assert response.status == 200
            async with WebsocketVisitor(address, "decoding") as later:
                assert not (await later.arrive(text="I see a house.")).exceptions

    with running() as (server, address):
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (SOFT, HARD))
        aside(visit()).result(timeout=300)
