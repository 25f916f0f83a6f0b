"""A server started as a user starts it, and a visitor with a stopwatch in a real Chromium."""

import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

from headlight.filming import launch as launch

ROOT = Path(__file__).parent.parent

# True when the page has this title, its run is over with nothing left of the one before (unless it may still be
# running), of everything in `selectors` as many stand there as must, and a sentence stands both in its field and, by
# its first letters, in the labels of the figure. Components draw in a shadow root, figures do not.
_DRAWN = """([title, sentence, selectors, running]) => {
  const roots = [document, ...[...document.querySelectorAll('*')].map(e => e.shadowRoot).filter(Boolean)];
  const all = (selector) => roots.flatMap(root => [...root.querySelectorAll(selector)]);
  const main = document.querySelector('[data-testid=stMain]');
  return main?.querySelector('h1')?.textContent === title
    && (running || !main.querySelector('[data-stale=true]')
      && document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning')
    && selectors.every(([selector, count]) => all(selector).length >= count)
    && (!sentence || (main.querySelector('input')?.value === sentence
      && all(selectors[0][0]).map(e => e.textContent).join('').replaceAll('▁', '').includes(sentence.slice(0, 2))));
}"""


@dataclass(frozen=True)
class Server:
    """A running app: its address, its process, and when it was started (time.monotonic)."""

    address: str
    process: subprocess.Popen
    started: float

    @property
    def processor_seconds(self) -> float:
        """Processor time that the server and the processes it has started have taken until now."""
        numbers = [text.rpartition(")")[2].split() for text in self._read("stat")]
        ticks = sum(int(number) for each in numbers for number in each[11:15])  # and of processes that have ended
        return ticks / os.sysconf("SC_CLK_TCK")

    @property
    def megabytes(self) -> float:
        """Memory that the server and the processes it has started hold now, what they share counted once."""
        lines = [line for text in self._read("smaps_rollup") for line in text.splitlines()]
        return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024

    def _read(self, name: str) -> list[str]:
        """Return a file of /proc of the server and of each process that it has started."""
        process = Path(f"/proc/{self.process.pid}")
        started: list[str] = []
        for thread in (process / "task").iterdir():
            with contextlib.suppress(FileNotFoundError):  # a thread that has ended meanwhile
                started += (thread / "children").read_text().split()
        texts = [(process / name).read_text()]
        for number in started:
            with contextlib.suppress(OSError):  # a process that has ended meanwhile
                texts.append(Path("/proc", number, name).read_text())
        return texts


@contextlib.contextmanager
def serve(script: str, **environment: str) -> Iterator[Server]:
    """Run `streamlit run SCRIPT` on a free port, on the CPU, with these variables besides."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", script, f"--server.port={port}", "--server.headless=true"]
    started = time.monotonic()
    variables = {**os.environ, "HEADLIGHT_DEVICE": "cpu", **environment}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, cwd=ROOT, env=variables, **quiet)
    address = f"http://localhost:{port}"
    try:
        while True:
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{address}/_stcore/health", timeout=5).close()
                break
            if process.poll() is not None:
                raise RuntimeError(f"the server of {script} ended")
            time.sleep(0.02)
        yield Server(address, process, started)
    finally:
        process.terminate()
        process.wait(timeout=20)


class Visitor:
    """A new visitor with an empty cache; counts the bytes that the server sends."""

    def __init__(self, browser: Browser):
        self.page: Page = browser.new_context(viewport={"width": 1440, "height": 1000}).new_page()
        self.bytes = 0
        session = self.page.context.new_cdp_session(self.page)
        session.send("Network.enable")
        session.on("Network.loadingFinished", lambda event: self._count(event["encodedDataLength"]))
        session.on("Network.webSocketFrameReceived", lambda event: self._count_frame(event["response"]))

    def wait(
        self, title: str, selectors: list[tuple[str, int]], sentence: str = "", answer: Sequence[tuple[str, int]] = ()
    ) -> float:
        """Until the page is drawn (see _DRAWN), looked at in each frame; return when its `answer` was there."""
        answered = 0.0
        for some, running in ((answer, True), (selectors, False)):
            if some:
                facts = [title, sentence, some, running]
                self.page.wait_for_function(_DRAWN, arg=facts, polling="raf", timeout=60_000)
                answered = answered or time.perf_counter()
        return answered

    def time(self, act: Callable[[], object], *drawn: Any) -> tuple[float, float]:
        """Seconds from the act to the answer, and to everything drawn; `drawn` as for `wait`."""
        started = time.perf_counter()
        act()
        answered = self.wait(*drawn)
        return answered - started, time.perf_counter() - started

    def _count(self, number: float) -> None:
        self.bytes += int(number)

    def _count_frame(self, frame: dict) -> None:
        # Binary frames are reported in base64.
        self.bytes += len(frame["payloadData"]) * 3 // 4 if frame["opcode"] == 2 else len(frame["payloadData"])
