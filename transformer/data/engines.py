"""Where a corpus is gone over: in this process, in several of this machine, under torchrun, or on a cluster of Ray.

All do the same: a `Work` is opened once a worker, and makes of each task, which is small, a result, which is bytes.
Results come as they are ready, in any order, each once, even where a worker has died on the way.
"""

import contextlib
import logging
import multiprocessing
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import ConfigError, UserError

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext, SpawnContext

    from ..model.distributed import Processes

logger = logging.getLogger(__name__)

Task = Any  # what can be sent to another process
Compute = Callable[[Task], bytes]
Results = Iterator[tuple[int, bytes]]  # the index of a task, and what was made of it

_MOST_DEATHS = 3  # of workers in one task, after which it is given up


class Work(Protocol):
    """What is to be computed, sent to each worker once; where it needs a model, `open` reads it."""

    def open(self) -> Compute: ...


class Engine(Protocol):
    """Runs a work's tasks; `close` ends what it has started."""

    def run(self, work: Work, tasks: Sequence[Task]) -> Results: ...

    def close(self) -> None: ...


@dataclass
class Here:
    """This process, one task after the other."""

    _opened: tuple[Work, Compute] | None = None

    def run(self, work: Work, tasks: Sequence[Task]) -> Results:
        """Yield each task's result."""
        if tasks and (self._opened is None or self._opened[0] is not work):
            self._opened = work, work.open()
        for index, task in enumerate(tasks):
            yield index, self._opened[1](task)  # type: ignore[index]

    def close(self) -> None:
        """Forget the work."""
        self._opened = None


@dataclass
class Shared:
    """The processes that torchrun started: each computes its share of the tasks, and has the results of these."""

    processes: "Processes"
    here: Here = field(default_factory=Here)

    def run(self, work: Work, tasks: Sequence[Task]) -> Results:
        """Yield the results of this process's share."""
        mine = self.processes.share(range(len(tasks)))
        for index, result in self.here.run(work, [tasks[index] for index in mine]):
            yield mine[index], result

    def close(self) -> None:
        """Forget the work."""
        self.here.close()


@dataclass
class Local:
    """Several processes of this machine. One that dies is replaced, and its task computed anew."""

    count: int
    _workers: list["_Worker"] = field(default_factory=list)
    _work: Work | None = None

    def run(self, work: Work, tasks: Sequence[Task]) -> Results:
        """Yield results as they come; raises UserError for a task in which several workers have died."""
        if self._work is not work:
            self.close()
            self._work = work
        try:
            yield from self._run(work, tasks)
        except BaseException:  # who stops in the midst, or is stopped, leaves tasks under way
            self.close()
            raise

    def _run(self, work: Work, tasks: Sequence[Task]) -> Results:
        waiting, deaths, done = deque(range(len(tasks))), dict.fromkeys(range(len(tasks)), 0), 0
        while len(self._workers) < min(self.count, len(tasks)):
            self._workers.append(_Worker(work))
        for worker in self._workers:
            if waiting:
                worker.start(waiting[0], tasks[waiting.popleft()])
        while done < len(tasks):
            ready = wait([worker.line for worker in self._workers if worker.task is not None])
            for worker in [worker for worker in self._workers if worker.line in ready]:
                index, result = worker.take()
                if result is None:
                    deaths[index] += 1
                    if deaths[index] == _MOST_DEATHS:
                        raise UserError(f"{_MOST_DEATHS} workers died of one task: is there enough memory?")
                    logger.warning("a worker has died; another one does its share anew")
                    self._workers.remove(worker)
                    waiting.append(index)
                    worker = _Worker(work)
                    self._workers.append(worker)
                if waiting:
                    worker.start(waiting[0], tasks[waiting.popleft()])
                if result is not None:
                    done += 1
                    yield index, result

    def close(self) -> None:
        """End the workers, in whatever they are."""
        for worker in self._workers:
            worker.end()
        self._workers.clear()


class _Worker:
    """Another process, and the line to it: when this process is gone, even killed, the line ends, and it with it."""

    def __init__(self, work: Work):
        context = _context()
        self.line, other = context.Pipe()
        self.task: int | None = None
        self._process: BaseProcess = context.Process(target=_serve, args=(other, work), daemon=True)
        self._process.start()
        other.close()

    def start(self, index: int, task: Task) -> None:
        """Send a task."""
        self.task = index
        with contextlib.suppress(OSError):  # it has died: `take` will tell
            self.line.send(task)

    def take(self) -> tuple[int, bytes | None]:
        """Return the task's index and its result, None where the worker has died; raises what the work has raised."""
        index, self.task = self.task, None
        try:
            result = self.line.recv()
        except (EOFError, OSError):
            self.end()
            return index, None  # type: ignore[return-value]
        if isinstance(result, Exception):
            raise result
        return index, result  # type: ignore[return-value]

    def end(self) -> None:
        """End the process."""
        self.line.close()
        self._process.kill()
        self._process.join()


def _context() -> "ForkServerContext | SpawnContext":
    """Return how workers start: on Linux as forks of a process that has read PyTorch and run none of it.

    A fork of this process would have PyTorch's locks and none of its threads, and to read PyTorch anew for each worker
    takes two seconds of a processor. On a Mac a fork must not use the system's frameworks, with which PyTorch computes.
    """
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch"])
    return context


def _serve(line: Connection, work: Work) -> None:
    """Compute what comes along the line until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all of a terminal's processes; the first one decides
    with contextlib.suppress(EOFError, OSError):
        try:
            compute = work.open()
        except Exception as error:
            line.recv()
            line.send(error)
            return
        while True:
            task = line.recv()
            try:
                result: bytes | Exception = compute(task)
            except Exception as error:
                result = error
            line.send(result)


@dataclass
class Ray:
    """Actors of Ray Data on a cluster, or, without an `address`, on this machine; one whose node dies is replaced.

    Each needs the program installed, and the checkpoint and the corpus at the same paths. Raises ConfigError where
    Ray is not installed, or not at the address.
    """

    count: int
    address: str | None = None
    gpus: int = 0  # of each
    _joined: bool = False

    def run(self, work: Work, tasks: Sequence[Task]) -> Results:
        """Yield results as they come."""
        try:
            import ray
            from ray.data import ActorPoolStrategy, DataContext
        except ImportError as error:
            raise ConfigError('Ray is not installed: pip install "headlight-transformer[cluster]".') from error
        if not tasks:
            return
        if not ray.is_initialized():
            cores = None if self.address else self.count
            try:
                ray.init(
                    address=self.address or "local",
                    num_cpus=cores,
                    include_dashboard=False,
                    logging_level=logging.WARNING,
                    log_to_driver=False,
                )
            except ConnectionError as error:
                raise ConfigError(f"There is no Ray cluster at {self.address}.") from error
            except Exception as error:  # Ray has no class for a start that fails, such as one that takes too long
                raise UserError(f"Ray cannot start: {str(error).strip().splitlines()[0]}") from error
        self._joined = True
        logging.getLogger("ray.data").setLevel(logging.WARNING)
        DataContext.get_current().enable_progress_bars = False
        items = [{"index": index, "task": task} for index, task in enumerate(tasks)]
        dataset = ray.data.from_items(items, override_num_blocks=len(items))
        results = dataset.map_batches(
            _Actor,
            fn_constructor_args=(work,),
            batch_size=1,
            compute=ActorPoolStrategy(size=self.count, max_tasks_in_flight_per_actor=1),
            num_cpus=1,
            num_gpus=self.gpus or None,
        )
        try:
            for row in results.iter_rows():
                if row["refused"]:
                    raise UserError(row["refused"])
                yield int(row["index"]), bytes(row["result"])
        except ray.exceptions.RayError as error:
            logger.debug("%s", error)
            raise UserError(f"Ray has stopped: {str(error).strip().splitlines()[-1]}") from error

    def close(self) -> None:
        """Leave the cluster, and end it where it is this machine's own."""
        if self._joined:
            import ray

            ray.shutdown()


class _Actor:
    """A worker of Ray Data. Ray would wrap what it raises, and try again: what is refused, such as a checkpoint or a
    corpus that this node cannot read, is handed on as a sentence.
    """

    def __init__(self, work: Work):
        self._work = work
        self._compute: Compute | None = None

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Compute a batch's tasks, one."""
        result, refused = b"", ""
        try:
            self._compute = self._compute or self._work.open()
            result = self._compute(batch["task"].tolist()[0])
        except (UserError, OSError) as error:
            refused = str(error)
        return {"index": batch["index"], "result": [result], "refused": [refused]}
