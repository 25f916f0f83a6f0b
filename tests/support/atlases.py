"""Atlases as files, and workers that die while they make one."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from transformer.data.engines import Compute, Work


def files_in(folder: Path) -> dict[str, bytes]:
    """All files of a folder and the folders in it, by their names within it."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@dataclass(frozen=True)
class Dying:
    """A work one of whose workers is killed at the end of its second task, once."""

    work: Work
    grave: str  # a file that is there afterwards

    def open(self) -> Compute:
        compute, tasks = self.work.open(), []

        def die(task) -> bytes:
            tasks.append(task)
            result = compute(task)
            if len(tasks) == 2 and not os.path.exists(self.grave):
                Path(self.grave).touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return die


@dataclass(frozen=True)
class Squares:
    """A work without a model: the square of a number, and no square of a negative one."""

    def open(self) -> Compute:
        return square


def square(task: int) -> bytes:
    if task < 0:
        raise ValueError(f"{task} is negative")
    return str(task * task).encode()


class Deadly:
    """A work whose sixth task kills whoever takes it on."""

    def open(self) -> Compute:
        def die(task) -> bytes:
            if task == 5:
                os.kill(os.getpid(), signal.SIGKILL)
            return square(task)

        return die
