"""Jobs with real processes: the line, the stop, users who leave, results and their time, and every mishap."""

import os
import subprocess
import sys
import tempfile
import threading
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
HOSTILE = ["", "../../etc", "/etc/passwd", ".", "x" * 100_000, "\x00", "a,b", "%2e%2e", "output"]


class Clock:
    """A clock that stands still until it is told to go on."""

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
    """Temporary folders of these jobs stand in one of the test's own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def idle(monkeypatch) -> None:
    """Processes that do nothing, for whatever is not about training: PyTorch takes seconds to read."""
    popen = module.subprocess.Popen
    monkeypatch.setattr(module.subprocess, "Popen", lambda command, **options: popen(IDLE, **options))


def processes(jobs: Jobs) -> list:
    return [job.process for job in jobs._jobs.values() if job.process is not None]


def test_a_job_runs_to_its_end_while_the_next_one_waits_in_line():
    with running() as jobs:
        (first,), (second,) = jobs.submit(SHORT), jobs.submit(replace(SHORT, task="sort"))
        assert jobs.look(first).state == "running" and jobs.look(first).active
        waiting = jobs.look(second)
        assert (waiting.state, waiting.place, waiting.status, waiting.replay) == ("waiting", 1, None, None)
        until(lambda: jobs.look(first).state == "done")
        until(lambda: jobs.look(second).state == "done")
        for name, task in ((first, "reverse"), (second, "sort")):
            view = jobs.look(name)
            assert view.settings.task == task and not view.active and view.place == 0
            assert (view.status.end, view.status.update) == ("limit", 3)
            assert view.replay.steps.tolist() == [0, 3]
        until(lambda: all(process.poll() == 0 for process in processes(jobs)))


def test_never_more_run_than_may_and_the_line_moves_up(idle):
    with running(at_once=2) as jobs:
        names = jobs.submit(*[LONG] * 5)
        assert [jobs.look(name).state for name in names] == ["running"] * 2 + ["waiting"] * 3
        assert [jobs.look(name).place for name in names] == [0, 0, 1, 2, 3]
        jobs.stop(names[3])
        assert [jobs.look(name).place for name in names] == [0, 0, 1, 0, 2]
        jobs.stop(names[0])
        until(lambda: jobs.look(names[2]).state == "running")
        assert [jobs.look(name).state for name in names] == ["stopped", "running", "running", "stopped", "waiting"]
        assert sum(process.poll() is None for process in processes(jobs)) == 2


def test_a_stopped_job_keeps_what_it_has():
    with running() as jobs:
        (name,) = jobs.submit(LONG)
        until(lambda: (status := jobs.look(name).status) and status.update > 0)
        jobs.stop(name)
        view = jobs.look(name)
        assert view.state == "stopped" and view.status.end == "" and view.replay.steps[0] == 0
        (process,) = processes(jobs)
        until(lambda: process.poll() is not None)
        jobs.stop(name)
        assert jobs.look(name).state == "stopped"


def test_stopping_what_has_just_ended_leaves_it_done():
    with running() as jobs:
        (name,) = jobs.submit(SHORT)
        until(lambda: b'"limit"' in read(jobs, name, STATUS_FILE))
        jobs.stop(name)
        assert jobs.look(name).state == "done"


def test_a_job_that_nobody_looks_at_is_ended_and_its_result_goes_in_time(idle, own_folder):
    clock = Clock()
    with running(clock=clock) as jobs:
        watched, left, waiting = jobs.submit(LONG, LONG, LONG)
        folder = jobs._jobs[watched].folder
        for _ in range(3):  # minutes in a hidden tab, which looks once a minute
            clock.now += 60
            assert jobs.look(watched).state == "running"
            jobs.tick()
        assert jobs.look(watched).state == "running"
        assert jobs.look(left).state == jobs.look(waiting).state == "left"
        clock.now += 76
        jobs.tick()
        assert jobs.look(watched).state == "left"
        (process,) = processes(jobs)
        until(lambda: process.poll() is not None)
        clock.now += 1799
        jobs.tick()
        assert folder.is_dir() and jobs.look(watched).state == "left", "a look keeps it for half an hour more"
        clock.now += 1801
        jobs.tick()
        assert [jobs.look(name) for name in (watched, left, waiting)] == [None] * 3
        assert not folder.exists()


def test_of_many_results_those_looked_at_last_are_kept(idle, monkeypatch):
    clock = Clock()
    with running(clock=clock) as jobs:
        names = jobs.submit(*[LONG] * 4)
        for name in names:
            jobs.stop(name)
        for name in (names[2], names[0], names[3]):
            clock.now += 1
            jobs.look(name)
        monkeypatch.setattr(module, "_MOST_KEPT", 2)
        jobs.tick()
        assert [jobs.look(name) is not None for name in names] == [True, False, False, True]


def test_a_job_that_is_left_goes_on_only_if_someone_else_looks(idle):
    clock = Clock()
    with running(at_once=2, clock=clock) as jobs:
        shared, alone = jobs.submit(LONG, LONG)
        jobs.leave(shared), jobs.leave(alone), jobs.leave("unknown")
        clock.now += 4
        jobs.look(shared)
        clock.now += 4
        jobs.tick()
        assert (jobs.look(shared).state, jobs.look(alone).state) == ("running", "left")


def test_a_process_that_breaks_off_is_a_failed_job_and_the_log_says_why(monkeypatch, caplog):
    monkeypatch.setattr(module, "asdict", lambda settings: {"no_such_option": 1})
    with running() as jobs:
        (name,) = jobs.submit(SHORT)
        until(lambda: jobs.look(name).state == "failed")
        assert jobs.look(name).status is None and not jobs.look(name).active
    assert "no-such-option" in caplog.text


def test_a_killed_process_is_a_failed_job_and_the_next_one_starts(idle):
    with running() as jobs:
        first, second = jobs.submit(LONG, LONG)
        processes(jobs)[0].kill()
        until(lambda: jobs.look(second).state == "running")
        assert jobs.look(first).state == "failed"


def test_where_no_process_can_be_started_the_job_fails_and_the_line_moves_on(monkeypatch, caplog):
    def refuse(*arguments, **options):
        raise OSError(11, "Resource temporarily unavailable")

    with running() as jobs:
        monkeypatch.setattr(module.subprocess, "Popen", refuse)
        first, second = jobs.submit(LONG, LONG)
        until(lambda: jobs.look(second).state == "failed")
        assert jobs.look(first).state == "failed"
        monkeypatch.undo()
        assert "could not be started" in caplog.text


def test_a_full_line_takes_all_or_none(idle):
    with running() as jobs:
        jobs.submit(*[LONG] * (module.MOST_WAITING - 1))
        jobs.submit(LONG)
        until(lambda: sum(job.state == "waiting" for job in jobs._jobs.values()) == module.MOST_WAITING - 1)
        before = len(jobs._jobs)
        with pytest.raises(BusyError, match="59 trainings are waiting already; please try again"):
            jobs.submit(LONG, LONG)
        assert len(jobs._jobs) == before == len(list(jobs._folder.iterdir()))
        jobs.submit(LONG)


def test_a_disk_without_room_is_said_in_a_sentence(monkeypatch):
    def refuse(*arguments, **options):
        raise OSError(28, "No space left on device")

    with running() as jobs, monkeypatch.context() as patched:
        patched.setattr(Path, "mkdir", refuse)
        with pytest.raises(BusyError, match="no room"):
            jobs.submit(SHORT)
        assert not jobs._jobs


def test_thirty_at_once_are_served_in_order(idle):
    with running(at_once=2) as jobs:
        names = []
        threads = [threading.Thread(target=lambda: names.extend(jobs.submit(LONG))) for _ in range(30)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        states = [jobs.look(name).state for name in names]
        assert states.count("running") == 2 and states.count("waiting") == 28
        assert sorted(jobs.look(name).place for name in names) == [0, 0, *range(1, 29)]


@pytest.mark.parametrize("name", HOSTILE)
def test_an_unknown_name_is_nobodys(name, idle):
    with running() as jobs:
        jobs.submit(LONG)
        assert jobs.look(name) is None
        jobs.stop(name)
        jobs.leave(name)
        assert [job.state for job in jobs._jobs.values()] == ["running"]


def test_names_cannot_be_guessed_and_stand_in_an_address(idle):
    with running() as jobs:
        names = jobs.submit(*[LONG] * 20)
        assert len(set(names)) == 20
        assert all(len(name) == 12 and name.replace("-", "").replace("_", "").isalnum() for name in names)


@pytest.mark.parametrize("content", [b"", b'{"update": 3', b"[]", b'{"other": 1}', b"\xff\xfe", b"null"])
def test_a_status_that_cannot_be_read_is_none(content, idle):
    with running() as jobs:
        (name,) = jobs.submit(LONG)
        (jobs._jobs[name].folder / STATUS_FILE).write_bytes(content)
        assert jobs.look(name).status is None and jobs.look(name).state == "running"


def test_a_replay_that_is_half_there_does_not_hide_the_one_before():
    with running() as jobs:
        (name,) = jobs.submit(SHORT)
        until(lambda: jobs.look(name).state == "done")
        path = jobs._jobs[name].folder / REPLAY_FILE
        whole = path.read_bytes()
        for content in (whole[: len(whole) // 2], b"", b"no replay"):
            path.write_bytes(content)
            assert jobs.look(name).replay.steps.tolist() == [0, 3]
        path.unlink()
        assert jobs.look(name).replay.steps.tolist() == [0, 3]
        jobs._jobs[name].forget_replay()
        assert jobs.look(name).replay is None


def test_closing_leaves_no_process_and_no_folder(idle, own_folder):
    with running(at_once=2) as jobs:
        jobs.submit(*[LONG] * 4)
        started = processes(jobs)
        assert len(started) == 2 and len(list(own_folder.iterdir())) == 1
        jobs.close()
        assert all(process.returncode is not None for process in started)
        assert list(own_folder.iterdir()) == []
        with pytest.raises(BusyError):
            jobs.submit(LONG)
        jobs.close()


def test_what_a_killed_server_left_is_removed_by_the_next_one_and_nothing_else(own_folder, monkeypatch):
    left, other = (own_folder / name for name in ("headlight-jobs-left", "headlight-x"))
    for folder in (left, other):
        (folder / "job").mkdir(parents=True)
    with running() as jobs, running() as neighbour:
        assert not left.exists() and (other / "job").exists()
        assert jobs._folder.is_dir() and neighbour._folder.is_dir() and jobs._folder != neighbour._folder


def test_where_nobody_can_tell_whose_a_folder_is_it_is_removed_after_a_day(own_folder, monkeypatch):
    monkeypatch.setattr(module, "fcntl", None)
    old, new = own_folder / "headlight-jobs-old", own_folder / "headlight-jobs-new"
    for folder in (old, new):
        (folder / "job").mkdir(parents=True)
    os.utime(old, (time.time() - 90_000,) * 2)
    with running():
        assert not old.exists() and (new / "job").exists()


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
    (left,) = tmp_path.glob("headlight-jobs-*")
    with running():
        assert not left.exists()


def test_a_folder_that_the_system_cleaned_away_is_made_anew(idle):
    with running() as jobs:
        jobs._folder.rmdir()
        (name,) = jobs.submit(LONG)
        assert jobs.look(name).state == "running"


def test_by_default_one_runs_a_core():
    with running(at_once=None) as jobs:
        assert 1 <= jobs.at_once <= os.cpu_count()


def test_trainings_give_way_to_users_and_use_one_thread(monkeypatch):
    seen = {}
    popen = module.subprocess.Popen

    def note(command, **options):
        seen.update(options, command=command)
        return popen(IDLE, **options)

    monkeypatch.setattr(module.subprocess, "Popen", note)
    with running() as jobs:
        jobs.submit(LONG)
    assert seen["env"]["OMP_NUM_THREADS"] == "1"
    assert module.shutil.which("nice") is None or seen["command"][1:3] == ["-n", "10"]


def read(jobs: Jobs, name: str, file: str) -> bytes:
    try:
        return (jobs._jobs[name].folder / file).read_bytes()
    except OSError:
        return b""
