"""From the examples of an update to tensors on the device that learns from them."""

import functools
import signal
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from ..data.batching import Example, collate
from .distributed import Processes

Tensors = tuple[Tensor, Tensor, Tensor]

_WORKERS = 2  # processes that make batches ready for a GPU while it computes


def load_updates(
    updates: Sequence[Sequence[Sequence[Example]]], pad_id: int, device: torch.device, processes: Processes
) -> Iterator[list[Tensors]]:
    """For each update, source, fed and predicted target of each of its batches: this process's rows of them.

    For a GPU they are made ready ahead of time, in memory from where they are copied while it computes. No random
    number is drawn from the global generators.
    """
    on_gpu = device.type == "cuda"
    loader = DataLoader(
        updates,
        batch_size=None,  # they are batches already
        collate_fn=functools.partial(_collate_shares, pad_id=pad_id, processes=processes),
        num_workers=_WORKERS if on_gpu else 0,
        pin_memory=on_gpu,
        worker_init_fn=_leave_signals_to_the_run,
        generator=torch.Generator(),
    )
    for batches in loader:
        yield [tuple(ids.to(device, non_blocking=on_gpu) for ids in batch) for batch in batches]


def _collate_shares(batches: Sequence[Sequence[Example]], pad_id: int, processes: Processes) -> list[Tensors]:
    return [_collate_share(batch, pad_id, processes) for batch in batches]


def _collate_share(batch: Sequence[Example], pad_id: int, processes: Processes) -> Tensors:
    rows = processes.share(batch)
    source, fed, predicted = collate(rows or batch[:1], pad_id)
    if not rows:
        predicted = torch.full_like(predicted, pad_id)  # nothing to predict: its loss and its gradients are 0
    return source, fed, predicted


def _leave_signals_to_the_run(worker: int) -> None:
    """An interruption reaches every process of a terminal; the run alone answers it, when its step is done."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
