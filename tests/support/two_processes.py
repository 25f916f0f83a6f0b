"""Scenarios of test_distributed.py in two processes: python two_processes.py FOLDER.

The two are forks of one process, with what torchrun would tell them: PyTorch is read once, not six times.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import torch
import torch._dynamo  # which the first optimizer reads, in each fork anew
import torch.distributed.nn.functional
from support.server import free_port
from support.short_run import PAIRS, VALID, experiment

from transformer.__main__ import main
from transformer.model.distributed import joined
from transformer.training import trainer
from transformer.training.state import SavedRun
from transformer.training.trainer import train


def stop_and_resume(folder: Path) -> None:
    """The short run, with its dropout, once whole and once stopped by a signal to one process and resumed by both."""
    with joined(torch.device("cpu")) as (processes, device):
        train(experiment(), PAIRS, VALID, folder / "whole", device, processes=processes)
        original, calls = trainer.learning_rate, []

        def rate(*arguments):
            calls.append(1)
            if len(calls) == 8 and not processes.first:
                signal.raise_signal(signal.SIGTERM)
            return original(*arguments)

        trainer.learning_rate = rate
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            train(experiment(), PAIRS, VALID, folder / "stopped", device, processes=processes)
        except KeyboardInterrupt:
            (folder / f"stopped-{processes.rank}.json").write_text(json.dumps(len(calls)))
        trainer.learning_rate = original
        train(experiment(), PAIRS, VALID, folder / "stopped", device, resume=True, processes=processes)
    if os.path.exists("/proc/self/task"):
        threads = {Path(f"/proc/self/task/{task}/comm").read_text() for task in os.listdir("/proc/self/task")}
        assert not [name for name in threads if "gloo" in name], "one that outlives the interpreter aborts the process"


def fail(folder: Path) -> None:
    """The first process cannot save at step 5."""
    save = SavedRun.save

    def full(*state):
        if state[3].step == 5:
            raise OSError(28, "No space left on device", "the disk")
        save(*state)

    SavedRun.save = full
    sys.exit(main([*json.loads((folder / "arguments.json").read_text())]))


def in_both(scenario: Callable[[Path], None], folder: Path) -> list[int]:
    """Run it in two processes; returns their exit statuses."""
    os.environ |= {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    children = []
    for rank in ("0", "1"):
        if not (child := os.fork()):
            os.environ |= {"RANK": rank, "LOCAL_RANK": rank}
            scenario(folder)
            sys.exit()
        children.append(child)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    statuses = {each.__name__: in_both(each, folder) for each in (stop_and_resume, fail)}
    (folder / "statuses.json").write_text(json.dumps(statuses))
