"""Jobs: toy trainings of many users on one machine, each in a process of its own, a few at a time."""

import contextlib
import logging
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from ..errors import BusyError, CheckpointError
from ..model.device import usable_cores
from ..training import REPLAY_FILE, TrainingReplay, load_replay
from ..untrusted import parse_json
from .settings import STATUS_FILE, UNTIL_INPUT_ENDS, ToySettings, ToyStatus

logger = logging.getLogger(__name__)

MOST_WAITING = 60
_PATIENCE = 75.0  # seconds without a look after which a user counts as gone; a hidden tab looks once a minute
_GRACE = 5.0  # seconds for another user to look at a job that one has left
_LIFETIME = 1800.0  # seconds of a result after its last look
_TICK = 0.5
_ACTIVE = ("waiting", "running")
_ROOT = Path(__file__).parents[2]
_LAST_LINES = 3  # of a failed job's output, for the log


@dataclass(frozen=True)
class JobView:
    """State of a job for a user.

    `state` is "waiting" (at `position` in the queue, from 1), "running", "done", "stopped", "left" (nobody looked) or
    "failed"; `status` and `replay` are what there is so far, None before.
    """

    settings: ToySettings
    state: str
    position: int
    status: ToyStatus | None
    replay: TrainingReplay | None

    @property
    def active(self) -> bool:
        """True while there is something to wait for."""
        return self.state in _ACTIVE


class _Job:
    """One job, changed only by `Jobs` under its lock."""

    def __init__(self, settings: ToySettings, folder: Path, now: float):
        self.settings, self.folder, self.looked = settings, folder, now
        self.state = "waiting"
        self.process: subprocess.Popen | None = None
        self._replay: TrainingReplay | None = None
        self._replay_stamp = 0

    @property
    def active(self) -> bool:
        return self.state in _ACTIVE

    @property
    def alive(self) -> bool:
        """Return whether its process runs; also reap one that has ended."""
        return self.process is not None and self.process.poll() is None

    def status(self) -> ToyStatus | None:
        with contextlib.suppress(OSError, ValueError, TypeError):
            return ToyStatus(**parse_json((self.folder / STATUS_FILE).read_bytes()))
        return None

    def replay(self) -> TrainingReplay | None:
        """Return the replay so far; where it cannot be read, the one before."""
        with contextlib.suppress(OSError, CheckpointError):
            stamp = (self.folder / REPLAY_FILE).stat().st_mtime_ns
            if stamp != self._replay_stamp:
                self._replay, self._replay_stamp = load_replay(self.folder / REPLAY_FILE), stamp
        return self._replay

    def forget_replay(self) -> None:
        """Free the memory of a replay that nobody looks at; the file stays."""
        self._replay, self._replay_stamp = None, 0


class Jobs:
    """All jobs of a server; safe to share between threads.

    At most `at_once` run, by default one a core that this process may use. More wait in line, in their order. A job
    that nobody looked at for a while is ended; what it left is kept for half an hour after the last look. `close` ends
    all of them.
    """

    def __init__(self, at_once: int | None = None, clock: Callable[[], float] = time.monotonic):
        self.at_once = at_once or usable_cores()
        self._clock = clock
        self._folder = Path(tempfile.mkdtemp(prefix="headlight-jobs-"))
        self._line, lifeline = os.pipe()  # the end that children read, and the end that closes with this process
        self._handles = [self._line, lifeline]
        self._jobs: dict[str, _Job] = {}  # in the order of their coming
        self._lock = threading.Lock()
        self._closed = threading.Event()
        threading.Thread(target=self._poll, name="jobs", daemon=True).start()

    def submit(self, *trainings: ToySettings) -> list[str]:
        """Put trainings in line, all or none; returns the names to look them up by, which nobody can guess.

        Raises BusyError when too many are waiting already, or the disk has no room for one more.
        """
        names = [secrets.token_urlsafe(9) for _ in trainings]
        with self._lock:
            waiting = sum(job.state == "waiting" for job in self._jobs.values())
            if self._closed.is_set():
                raise BusyError("This server is closing down; please try again in a minute.")
            if waiting + len(trainings) > MOST_WAITING:
                raise BusyError(f"{waiting} trainings are waiting already; please try again in a few minutes.")
            try:
                for name in names:
                    (self._folder / name).mkdir(parents=True)
            except OSError as error:
                logger.exception("no folder for a toy training")
                raise BusyError("The machine has no room for a training at the moment; try again later.") from error
            for name, settings in zip(names, trainings, strict=True):
                self._jobs[name] = _Job(settings, self._folder / name, self._clock())
        self.tick()
        return names

    def look(self, name: str) -> JobView | None:
        """Return what is there of a job, which counts as a visit; None for one that is unknown or whose time is up."""
        with self._lock:
            job = self._jobs.get(name)
            if job is None:
                return None
            job.looked = self._clock()
            self._see(job)
            waiting = [other for other in self._jobs.values() if other.state == "waiting"]
            position = waiting.index(job) + 1 if job.state == "waiting" else 0
            return JobView(job.settings, job.state, position, job.status(), job.replay())

    def stop(self, name: str) -> None:
        """End a job that waits or runs; what it has so far stays. Does nothing for any other."""
        with self._lock:
            if job := self._jobs.get(name):
                self._end(job, "stopped")
        self.tick()

    def leave(self, name: str) -> None:
        """Note that a user looks at it no more: unless another one does within seconds, it is ended."""
        with self._lock:
            if job := self._jobs.get(name):
                job.looked = min(job.looked, self._clock() - _PATIENCE + _GRACE)

    def close(self) -> None:
        """End all jobs and forget their results."""
        with self._lock:
            for job in self._jobs.values():
                if job.process:
                    job.process.kill()
                    job.process.wait()
            self._jobs.clear()
            self._closed.set()
            while self._handles:
                os.close(self._handles.pop())
        shutil.rmtree(self._folder, ignore_errors=True)

    def tick(self) -> None:
        """See who has ended, who was left, whose time is up, and whose turn it is."""
        with self._lock:
            self._reap(self._clock())
            free = self.at_once - sum(job.alive for job in self._jobs.values())
            for job in [job for job in self._jobs.values() if job.state == "waiting"][: max(0, free)]:
                self._start(job)

    def _reap(self, now: float) -> None:
        """End what nobody looks at any more; drop what nobody looked at for long."""
        for job in self._jobs.values():
            self._see(job)
            if now - job.looked > _PATIENCE:
                self._end(job, "left")
                job.forget_replay()
        for name, job in list(self._jobs.items()):
            if not job.active and now - job.looked > _LIFETIME:
                shutil.rmtree(self._jobs.pop(name).folder, ignore_errors=True)

    def _start(self, job: _Job) -> None:
        # Matrices this small gain nothing from a second thread, and one that spins while it waits is felt by all.
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
        settings = [f"--{name.replace('_', '-')}={value}" for name, value in asdict(job.settings).items()]
        command = [sys.executable, "-m", "transformer", "toy", *settings, "--out", str(job.folder), UNTIL_INPUT_ENDS]
        if nice := shutil.which("nice"):  # whoever looks at pages comes first
            command = [nice, "-n", "10", *command]
        try:
            with (job.folder / "output").open("wb") as output:
                job.process = subprocess.Popen(
                    command, cwd=_ROOT, env=environment, stdin=self._line, stdout=output, stderr=output
                )
            job.state = "running"
        except OSError:  # no memory, no process, no disk: those in line behind it are not to wait for it
            logger.exception("a toy training could not be started")
            job.state = "failed"

    @staticmethod
    def _see(job: _Job) -> None:
        """Note that a running job has come to its end: well if its last status says so."""
        if job.state != "running":
            return
        gone = not job.alive  # asked first: a process writes its status, then ends
        status = job.status()
        if status and status.end:
            job.state = "done"
        elif gone:
            job.state = "failed"
            with contextlib.suppress(OSError):
                lines = (job.folder / "output").read_text(encoding="utf-8", errors="replace").splitlines()
                last = " | ".join(lines[-_LAST_LINES:])
                logger.error("a toy training ended with %s: %s", job.process.returncode, last)  # type: ignore[union-attr]

    def _end(self, job: _Job, state: str) -> None:
        """End a job that waits or runs; its process is reaped when it is next asked for."""
        self._see(job)
        if job.state == "running" and job.process:
            job.process.kill()
        if job.active:
            job.state = state

    def _poll(self) -> None:
        while not self._closed.wait(_TICK):
            try:
                self.tick()
            except Exception:  # whatever it is: without this thread nobody in line would ever be served
                logger.exception("the toy trainings could not be looked after")
