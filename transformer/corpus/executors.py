"""Executors of corpus jobs: this process, processes of this machine, or a Ray cluster.

Each worker reads the model once. Results come in the order of the items, so that sums do not depend on the executor.
"""

import concurrent.futures
import logging
import multiprocessing
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch

from ..errors import ConfigError, UserError
from ..translator import Translator

Item = TypeVar("Item")
Handle = TypeVar("Handle")
Result = TypeVar("Result")


class Executor(Protocol):
    """Applies a function of the model and an item to many items."""

    def map(self, function: Callable[[Translator, Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield the results in the order of the items."""

    def close(self) -> None:
        """Stop the workers, also in the midst of a task."""


class InProcess:
    """Executor that computes in this process."""

    def __init__(self, translator: Translator):
        self._translator = translator

    def map(self, function: Callable[[Translator, Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield the results one by one."""
        return (function(self._translator, item) for item in items)

    def close(self) -> None:
        """Do nothing."""


class ProcessPool:
    """Executor of several processes of this machine."""

    def __init__(self, checkpoint: Path, device: str, workers: int):
        self._checkpoint, self._device, self._workers = checkpoint, device, workers
        self._pool = concurrent.futures.ProcessPoolExecutor(
            workers, mp_context=_context(), initializer=_exit_with_parent
        )

    def map(self, function: Callable[[Translator, Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield the results in order; raises UserError when a worker dies."""

        def submit(item: Item) -> concurrent.futures.Future[Result]:
            return self._pool.submit(_apply, self._checkpoint, self._device, function, item)

        try:
            yield from _in_order(submit, lambda future: future.result(), items, 2 * self._workers)
        except BrokenProcessPool as error:
            raise UserError("A worker process was killed: is there enough memory? --workers starts fewer.") from error

    def close(self) -> None:
        """Stop the workers."""
        processes = list((self._pool._processes or {}).values())
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()


class RayTasks:
    """Executor of tasks on a Ray cluster, or, without an address, on a local Ray.

    Each node needs this package, and the checkpoint at the same path. Raises ConfigError where Ray is not installed or
    not at the address.
    """

    def __init__(self, checkpoint: Path, device: str, workers: int, address: str | None = None):
        try:
            import ray
        except ImportError as error:
            raise ConfigError('Ray is not installed: pip install "headlight-transformer[cluster]".') from error
        self._ray: Any = ray
        self._checkpoint, self._device, self._workers = checkpoint, device, workers
        cores = None if address else workers
        quiet: dict[str, Any] = {"include_dashboard": False, "logging_level": logging.WARNING, "log_to_driver": False}
        try:
            ray.init(address or "local", num_cpus=cores, **quiet)
        except ConnectionError as error:
            raise ConfigError(f"There is no Ray cluster at {address}.") from error
        except Exception as error:  # Ray has no class for a start that fails
            raise UserError(f"Ray cannot start: {str(error).strip().splitlines()[0]}") from error
        gpus = int(torch.device(device).type == "cuda")
        self._apply: Any = ray.remote(num_cpus=1, num_gpus=gpus, max_calls=0)(_apply)  # workers keep the model

    def map(self, function: Callable[[Translator, Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield the results in order; a task whose node is lost is computed anew."""

        def submit(item: Item) -> Any:
            return self._apply.remote(self._checkpoint, self._device, function, item)

        try:
            yield from _in_order(submit, self._ray.get, items, self._workers)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from error
        except self._ray.exceptions.RayError as error:
            raise UserError(f"Ray has stopped: {str(error).strip().splitlines()[-1]}") from error

    def close(self) -> None:
        """Leave the cluster; a local Ray ends."""
        self._ray.shutdown()


@lru_cache(maxsize=1)
def load_for_corpus(checkpoint: Path, device: str) -> Translator:
    """Read the model; a CPU computes with one thread per process, since several processes share the cores."""
    if torch.device(device).type == "cpu":
        torch.set_num_threads(1)
    return Translator.load(checkpoint, device)


def _apply(checkpoint: Path, device: str, function: Callable[[Translator, Item], Result], item: Item) -> Result:
    return function(load_for_corpus(checkpoint, device), item)


def _in_order(
    submit: Callable[[Item], Handle], wait: Callable[[Handle], Result], items: Iterable[Item], ahead: int
) -> Iterator[Result]:
    """Submit at most `ahead` items before the oldest result is taken, so that a long corpus is never in memory."""
    handles: deque[Handle] = deque()
    for item in items:
        if len(handles) == ahead:
            yield wait(handles.popleft())
        handles.append(submit(item))
    while handles:
        yield wait(handles.popleft())


def _context() -> multiprocessing.context.BaseContext:
    """Return the start method: on Linux forks of a process that has imported PyTorch and started no threads of it.

    A fork of this process would copy PyTorch's locks without its threads; importing PyTorch per worker takes seconds.
    """
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch"])
    return context


def _exit_with_parent() -> None:
    """Watch the parent process in a thread: without it, a worker of a killed command would wait for ever."""
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None, "a worker has a parent"
    parent.join()
    os._exit(1)
