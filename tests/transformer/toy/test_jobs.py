"""Jobs with real processes: the queue, stopping, users who leave, results and their lifetime, and failures."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from support.server import ROOT, is_alive, until

from transformer.errors import BusyError
from transformer.toy import jobs as module
from transformer.toy.jobs import Jobs
from transformer.toy.settings import STATUS_FILE, ToySettings
from transformer.training.replay import REPLAY_FILE

SHORT = ToySettings(vocabulary=5, length=6, d_model=16, num_layers=1, num_heads=2, max_updates=3)
LONG = replace(SHORT, vocabulary=26, length=20, goal=1.0, max_updates=5000)
IDLE = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]
HOSTILE = ["", "../../etc", "/etc/passwd", ".", "x" * 100_000, "\x00", "output"]


class Clock:
    """A clock that a test sets."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@contextmanager
def running(at_once: int = 1, clock: Callable[[], float] = time.monotonic) -> Iterator[Jobs]:
    jobs = Jobs(at_once, clock)
    try:
        yield jobs
    finally:
        jobs.close()


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch) -> Path:
    """Put the temporary folders of the jobs into a folder of the test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def idle(monkeypatch) -> None:
    """Let jobs run processes that do nothing: importing PyTorch takes seconds."""
    popen = module.subprocess.Popen
    monkeypatch.setattr(module.subprocess, "Popen", lambda command, **options: popen(IDLE, **options))


def refuse(*arguments, **options):
    raise OSError(28, "No space left on device")


def processes(jobs: Jobs) -> list:
    return [job.process for job in jobs._jobs.values() if job.process is not None]


def test_a_job_runs_to_its_end_and_a_damaged_replay_does_not_hide_the_one_before():
    with running() as jobs:
        first, second = jobs.submit(SHORT, replace(SHORT, task="sort"))
        assert jobs.look(first).state == "running" and jobs.look(first).active
        waiting = jobs.look(second)
        assert (waiting.state, waiting.position, waiting.status, waiting.replay) == ("waiting", 1, None, None)
        for name, task in ((first, "reverse"), (second, "sort")):
            until(lambda name=name: jobs.look(name).state == "done")
            view = jobs.look(name)
            assert view.settings.task == task and not view.active and view.position == 0
            assert (view.status.end, view.status.update) == ("limit", 3)
            assert view.replay.steps.tolist() == [0, 3]
        until(lambda: all(process.poll() == 0 for process in processes(jobs)))
        path = jobs._jobs[first].folder / REPLAY_FILE
        for content in (path.read_bytes()[:999], b"", b"no replay"):
            path.write_bytes(content)
            assert jobs.look(first).replay.steps.tolist() == [0, 3]
        path.unlink()
        assert jobs.look(first).replay.steps.tolist() == [0, 3]
        for content in (b'{"update": 3', b"[]", b'{"other": 1}', b"\xff\xfe", b"null"):
            (jobs._jobs[first].folder / STATUS_FILE).write_bytes(content)
            assert jobs.look(first).status is None and jobs.look(first).state == "done"


def test_never_more_run_than_may_and_the_line_moves_up_until_all_is_closed(idle, own_folder):
    with running(at_once=2) as jobs:
        names = jobs.submit(*[LONG] * 5)
        assert all(len(name) == 12 and name.replace("-", "").replace("_", "").isalnum() for name in names)
        for name in HOSTILE:
            jobs.stop(name)
            jobs.leave(name)
            assert jobs.look(name) is None
        assert [jobs.look(name).state for name in names] == ["running"] * 2 + ["waiting"] * 3
        assert [jobs.look(name).position for name in names] == [0, 0, 1, 2, 3]
        jobs.stop(names[3])
        assert [jobs.look(name).position for name in names] == [0, 0, 1, 0, 2]
        jobs.stop(names[0])
        until(lambda: jobs.look(names[2]).state == "running")
        assert [jobs.look(name).state for name in names] == ["stopped", "running", "running", "stopped", "waiting"]
        processes(jobs)[1].kill()
        until(lambda: jobs.look(names[4]).state == "running")
        assert jobs.look(names[1]).state == "failed"
        started = processes(jobs)
        assert sum(process.poll() is None for process in started) == 2 and len(list(own_folder.iterdir())) == 1
        jobs.close()
        assert all(process.returncode is not None for process in started) and list(own_folder.iterdir()) == []
        with pytest.raises(BusyError, match="closing down"):
            jobs.submit(LONG)


def test_a_stopped_job_keeps_what_it_has():
    with running() as jobs:
        (name,) = jobs.submit(LONG)
        until(lambda: (status := jobs.look(name).status) and status.update > 0)
        for _ in range(2):
            jobs.stop(name)
            view = jobs.look(name)
            assert view.state == "stopped" and view.status.end == "" and view.replay.steps[0] == 0
        until(lambda: processes(jobs)[0].poll() is not None)


def test_a_job_that_nobody_looks_at_is_ended_and_its_result_goes_in_time(idle):
    clock = Clock()
    with running(clock=clock) as jobs:
        watched, left, waiting = jobs.submit(LONG, LONG, LONG)
        jobs.leave(watched)
        clock.now += 4
        jobs.look(watched)  # by another user in time
        clock.now += 4
        jobs.tick()
        folder = jobs._jobs[watched].folder
        for _ in range(3):  # minutes in a hidden tab, which looks once a minute
            clock.now += 60
            assert jobs.look(watched).state == "running"
            jobs.tick()
        assert jobs.look(left).state == jobs.look(waiting).state == "left"
        clock.now += 76
        jobs.tick()
        assert jobs.look(watched).state == "left"
        until(lambda: processes(jobs)[0].poll() is not None)
        clock.now += 1799
        jobs.tick()
        assert folder.is_dir() and jobs.look(watched).state == "left", "a look keeps it for half an hour more"
        clock.now += 1801
        jobs.tick()
        assert [jobs.look(name) for name in (watched, left, waiting)] == [None] * 3
        assert not folder.exists()


def test_a_training_ends_with_the_server_that_was_killed_before_it_had_begun(tmp_path):
    """Killed as soon as there is a process: long before that has read PyTorch and could look for its parent."""
    code = (
        "import sys, tempfile, time; tempfile.tempdir = sys.argv[1]; from transformer.toy.jobs import Jobs\n"
        "from transformer.toy.settings import ToySettings; jobs = Jobs(1)\n"
        "jobs.submit(ToySettings(vocabulary=26, length=20, goal=1.0, max_updates=5000))\n"
        "print(next(iter(jobs._jobs.values())).process.pid, flush=True); time.sleep(600)"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        child = int(server.stdout.readline())
        server.kill()
    until(lambda: not is_alive(child))


def test_a_full_line_or_disk_takes_no_training_of_a_request(idle, monkeypatch):
    with running() as jobs:
        jobs._folder.rmdir()  # as a system may that cleans up
        jobs.submit(*[LONG] * module.MOST_WAITING)
        until(lambda: sum(job.state == "waiting" for job in jobs._jobs.values()) == module.MOST_WAITING - 1)
        with pytest.raises(BusyError, match="59 trainings are waiting already; please try again"):
            jobs.submit(LONG, LONG)
        with monkeypatch.context() as patched, pytest.raises(BusyError, match="no room"):
            patched.setattr(Path, "mkdir", refuse)
            jobs.submit(SHORT)
        assert len(jobs._jobs) == module.MOST_WAITING == len(list(jobs._folder.iterdir()))
        jobs.submit(LONG)


def test_a_process_that_fails_or_cannot_start_is_a_failed_job_with_a_line_in_the_log(monkeypatch, caplog):
    monkeypatch.setattr(module, "asdict", lambda settings: {"no_such_option": 1})
    with running() as jobs:
        (name,) = jobs.submit(SHORT)
        until(lambda: jobs.look(name).state == "failed")
        assert jobs.look(name).status is None and not jobs.look(name).active and "no-such-option" in caplog.text
        monkeypatch.setattr(module.subprocess, "Popen", refuse)
        first, second = jobs.submit(LONG, LONG)
        until(lambda: jobs.look(second).state == "failed")
        assert jobs.look(first).state == "failed" and "could not be started" in caplog.text
