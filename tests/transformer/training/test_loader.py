"""Batches on their way to the device."""

import signal

import pytest
import torch
from support.tiny import make_pairs

from transformer.data.batching import collate, epoch_batches, make_examples
from transformer.model.distributed import Processes
from transformer.training import loader as loading
from transformer.training.loader import load_updates

CPU = torch.device("cpu")


@pytest.fixture
def updates(tokenizer):
    """Updates of one to three batches."""
    examples = make_examples(make_pairs(60, 4), tokenizer, 24)
    batches = epoch_batches(examples, 60, 0.0, 24, seed=1)
    return [batches[:1], batches[1:4], batches[4:6]]


def test_every_batch_arrives_as_it_is_collated_and_no_random_number_is_drawn(updates):
    before = torch.get_rng_state()
    loaded = list(load_updates(updates, 0, CPU, Processes()))
    assert torch.equal(torch.get_rng_state(), before)
    assert [len(batches) for batches in loaded] == [1, 3, 2]
    for update, batches in zip(updates, loaded, strict=True):
        for batch, tensors in zip(update, batches, strict=True):
            assert all(map(torch.equal, tensors, collate(batch, 0)))


def test_the_processes_that_make_batches_ready_for_a_gpu_bring_the_same(updates, monkeypatch):
    """Here for a CPU, without memory that a GPU could copy from."""

    class Prefetching(loading.DataLoader):
        def __init__(self, *arguments, num_workers, **named):
            super().__init__(*arguments, num_workers=2, **named)

    before, expected = torch.get_rng_state(), list(load_updates(updates, 0, CPU, Processes(1, 2)))
    monkeypatch.setattr(loading, "DataLoader", Prefetching)
    loaded = list(load_updates(updates, 0, CPU, Processes(1, 2)))
    assert torch.equal(torch.get_rng_state(), before)
    for theirs, ours in zip(expected, loaded, strict=True):
        for batch, same in zip(theirs, ours, strict=True):
            assert all(map(torch.equal, batch, same))


def test_a_process_that_makes_batches_ready_leaves_signals_to_the_run():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    try:
        loading._leave_signals_to_the_run(0)
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
    finally:
        for number, handler in zip((signal.SIGINT, signal.SIGTERM), before, strict=True):
            signal.signal(number, handler)
