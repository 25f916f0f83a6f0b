"""Several processes that run one model together, each on its share of every batch (data parallel).

Started with `torchrun --nproc-per-node 2 -m transformer train …`, over NCCL between GPUs and gloo between CPUs. Each
process computes the gradients of its rows; DistributedDataParallel (Li et al. 2020) makes them those of the whole
batch, so that all take the same step. Each drops out values of its own: with dropout, the losses are those of one
process with another seed; without, they are the same but for rounding.
"""

import contextlib
import datetime
import importlib
import logging
import os
from collections.abc import Iterator, Sequence
from typing import TypeVar

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from ..errors import DeviceError, UserError
from .device import choose_device, describe_device

logger = logging.getLogger(__name__)

Item = TypeVar("Item")

# The others wait while the first one validates and saves. One that died is noticed at once, not after this time.
_PATIENCE = datetime.timedelta(hours=1)


class Processes:
    """This process, number `rank` of the `count` that train together; alone, it has nobody to agree with."""

    def __init__(self, rank: int = 0, count: int = 1):
        self.rank, self.count = rank, count

    @property
    def first(self) -> bool:
        """True for the one that logs, validates and saves."""
        return self.rank == 0

    def share(self, rows: Sequence[Item]) -> Sequence[Item]:
        """Return the rows of a batch that are this process's; none, where there are fewer rows than processes."""
        return rows[self.rank :: self.count]

    def wrap_ddp(self, module: nn.Module) -> nn.Module:
        """Return the module, its gradients after each backward pass the mean over the processes."""
        # Its one buffer is the table of positions, which never changes.
        return module if self.count == 1 else DistributedDataParallel(module, forward_sync_buffers=False)

    def describe(self, device: torch.device) -> str:
        """Return the devices of a run in words."""
        text = describe_device(device)
        return text if self.count == 1 else f"{self.count} processes, each on {text}"

    def sums(self, *values: float) -> list[float]:
        """Return the sum of each value over the processes."""
        if self.count == 1:
            return list(values)
        total = torch.tensor(values, dtype=torch.float64)
        distributed.all_reduce(total)
        return total.tolist()

    def wait(self) -> None:
        """Go on when all have come here."""
        self.sums(0.0)

    def gather(self, tensor: Tensor) -> Tensor:
        """Each process's tensor, all of one shape and on the CPU, under one another: [processes, ...]."""
        if self.count == 1:
            return tensor[None]
        gathered = [torch.empty_like(tensor) for _ in range(self.count)]
        distributed.all_gather(gathered, tensor)
        return torch.stack(gathered)


@contextlib.contextmanager
def joined(device: torch.device) -> Iterator[tuple[Processes, torch.device]]:
    """Join the processes that torchrun has started, if it has; gives them and this one's device.

    A `device` that is a GPU stands for all: each process takes one of its own. Raises DeviceError where there are too
    few or the kind cannot run in parallel, UserError when another process of the run has ended.
    """
    count = int(os.environ.get("WORLD_SIZE", 1))
    if count == 1:
        yield Processes(), device
        return
    if device.type == "cuda":
        device = choose_device(f"cuda:{os.environ['LOCAL_RANK']}")
        torch.cuda.set_device(device)
    elif device.type != "cpu":
        raise DeviceError(f"Several processes run on CPUs or NVIDIA GPUs, not on {device.type}.")
    # DistributedDataParallel would import this later, whose default arguments then hold on to the group for good.
    importlib.import_module("torch.distributed.nn.functional")
    distributed.init_process_group("cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo", timeout=_PATIENCE)
    processes = Processes(distributed.get_rank(), distributed.get_world_size())
    if not processes.first:
        logging.getLogger(__package__.partition(".")[0]).setLevel(logging.ERROR)
    try:
        yield processes, device
        processes.wait()  # torchrun would end the first one, still writing, when another has left
    except RuntimeError as error:
        if isinstance(error, distributed.DistError) or "gloo" in str(error).lower():
            raise UserError(f"Process {processes.rank + 1} of {count} stopped because another one has.") from error
        raise
    # After a good end the trainer is gone, nothing else holds on to the group, and its threads end here, not with the
    # interpreter, which would abort. While an error is under way the trainer is still there, and this could hang.
    distributed.destroy_process_group()
