"""The server and the machine it runs on: what it leaves when it is killed, and few open files."""

import asyncio
import contextlib
import os
import resource
import signal
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

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/cmdline").exists(), reason="looks at processes as Linux shows them"
)

LARGE = {"task": "sort", "symbols_long": "20", "number_of_letters": "26", "toy_width": "128"}  # not learned at once


@contextlib.contextmanager
def limited(soft: int, hard: int, log: Path) -> Iterator[tuple[subprocess.Popen, str]]:
    """A real server that may have so many files open; yields its process and address."""
    port = free_port()
    run = [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={port}", "--server.headless=true"]
    shell = ["bash", "-c", f'ulimit -Sn {soft} && ulimit -Hn {hard} && exec "$@"', "bash", *run]
    with log.open("w") as out:
        server = subprocess.Popen(shell, cwd=ROOT, env=os.environ | {"HEADLIGHT_DEVICE": "cpu"}, stdout=out, stderr=out)
    try:
        wait_for(f"http://localhost:{port}/_stcore/health", server)
        yield server, f"http://localhost:{port}"
    finally:
        server.kill()
        server.wait()


def of_whom(words: str) -> list[int]:
    """The processes in whose command line this stands."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if words in path.read_bytes().replace(b"\0", b" ").decode(errors="replace"):
                found.append(int(path.parent.name))
    return [pid for pid in found if is_alive(pid)]


def test_a_killed_server_takes_its_training_and_its_models_process_along(tmp_path):
    port = free_port()
    server = start(port, TMPDIR=str(tmp_path), HEADLIGHT_MODEL_PROCESS="1")
    address = f"http://localhost:{port}"
    model = "spawn_main"

    def children() -> list[int]:
        return [pid for pid in of_whom(model) if Path(f"/proc/{pid}/stat").read_text().split()[3] == str(server.pid)]

    async def visit() -> None:
        async with WebsocketVisitor(address, "training") as visitor:
            await visitor.arrive(training="train live", **LARGE)
            assert not (await visitor.press("Start training")).exceptions
            while not children():
                await asyncio.gather(*(ask(f"I see {number} trees.") for number in range(8)))

    async def ask(text: str) -> None:
        async with WebsocketVisitor(address, "decoding") as visitor:
            assert not (await visitor.arrive(text=text)).exceptions

    try:
        wait_for(f"{address}/_stcore/health", server)
        aside(visit()).result(timeout=300)
        left = [*until(lambda: of_whom(str(tmp_path))), *children()]
        assert len(left) >= 2
    finally:
        server.send_signal(signal.SIGKILL)
        server.wait()
    until(lambda: not any(map(is_alive, left)))


def test_a_server_with_a_screen_opens_a_browser_at_its_address(tmp_path):
    opened, port = tmp_path / "opened", free_port()
    for name in ("xdg-open", "open"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho "$1" >> {opened}\n')
        (tmp_path / name).chmod(0o755)
    environment = os.environ | {"DISPLAY": ":0", "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    for more, expected in ((["--headless"], ""), ([], f"http://localhost:{port}\n")):
        server = subprocess.Popen(
            [sys.executable, "-m", "headlight", "app", "--port", str(port), *more], cwd=ROOT, env=environment
        )
        try:
            wait_for(f"http://localhost:{port}/_stcore/health", server)
            until(lambda expected=expected: not expected or (opened.exists() and opened.read_text()))
        finally:
            server.terminate()
            server.wait()
        assert (opened.read_text() if opened.exists() else "") == expected


def test_a_server_raises_a_low_limit_of_open_files(tmp_path):
    with limited(256, 5000, tmp_path / "log") as (server, address):

        async def visit() -> None:
            async with WebsocketVisitor(address) as visitor:
                assert not (await visitor.arrive()).exceptions

        assert resource.prlimit(server.pid, resource.RLIMIT_NOFILE) == (256, 5000)
        aside(visit()).result(timeout=300)
        assert resource.prlimit(server.pid, resource.RLIMIT_NOFILE) == (5000, 5000)
    assert "ulimit" not in (tmp_path / "log").read_text()


def test_a_limit_is_never_lowered_and_one_beyond_the_systems_is_let_be(monkeypatch, caplog):
    asked = []

    def refuse_much(_, limits: tuple[int, int]) -> None:
        asked.append(limits[0])
        if limits[0] > 20_000:
            raise ValueError("more than the system gives")

    monkeypatch.setattr(open_files.resource, "setrlimit", refuse_much)
    infinite = resource.RLIM_INFINITY
    for limits, wanted in (
        ((infinite, infinite), []),
        ((70_000, 100_000), []),
        ((256, infinite), [65_536, 10_240]),
        ((256, 9000), [9000]),
        ((1024, 1024), []),
    ):
        asked.clear()
        monkeypatch.setattr(open_files.resource, "getrlimit", lambda _, limits=limits: limits)
        open_files.raise_limit()
        assert asked == wanted, limits
    assert caplog.messages == ["This server may open 1024 files, enough for 240 visitors: raise `ulimit -Hn`."]


def test_silent_sockets_take_nothing_from_a_visitor_who_is_there(tmp_path):
    silent = 90

    async def visit(address: str) -> None:
        url = f"ws{address.removeprefix('http')}/_stcore/stream"
        async with WebsocketVisitor(address, "decoding") as visitor:
            assert not (await visitor.arrive(text="I see a tree.")).exceptions
            async with contextlib.AsyncExitStack() as sockets:
                connect = (sockets.enter_async_context(websockets.connect(url)) for _ in range(silent))
                outcomes = await asyncio.gather(*connect, return_exceptions=True)
                refused = [each for each in outcomes if isinstance(each, Exception)]
                assert {each.response.status_code for each in refused} == {503}
                assert len(refused) == silent + 1 - (256 - open_files.RESERVE) // open_files.FILES_PER_VISITOR
                for number in range(4):
                    assert not (await visitor.ask(f"I see {number} trees.")).exceptions
                for path in ("/c", "/_stcore/health", "/"):
                    with await asyncio.to_thread(urllib.request.urlopen, address + path) as response:
                        assert response.status == 200
            async with WebsocketVisitor(address, "decoding") as later:
                assert not (await later.arrive(text="I see a house.")).exceptions

    with limited(256, 256, tmp_path / "log") as (_, address):
        aside(visit(address)).result(timeout=300)
    assert "Traceback" not in (tmp_path / "log").read_text()
