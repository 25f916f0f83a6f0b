"""The count of operations, against PyTorch's own, and the cards' peaks, and reports of a run."""

import logging

import pytest
import torch
from support.small import random_ids, small_config
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from transformer.model.transformer import Transformer
from transformer.training.monitoring import Throughput, device_peak_flops, peak_flops, training_flops, update_flops
from transformer.training.state import Progress


@pytest.mark.parametrize("changes", [{}, {"share_embeddings": False}, {"norm": "pre", "d_ff": 56, "num_heads": 2}])
def test_the_count_is_pytorchs_own_of_forward_and_backward(changes):
    config = small_config(**changes)
    model = Transformer(config)
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        model(random_ids(5, 7), random_ids(5, 6)).sum().backward()
    assert training_flops(config, rows=5, source=7, target=6) == counter.get_total_flops()


def test_an_updates_count_is_that_of_its_batches_as_they_are_padded():
    batches = [(random_ids(5, 7), random_ids(5, 6), random_ids(5, 6)), (random_ids(2, 3), random_ids(2, 9), None)]
    expected = [training_flops(small_config(), *shape) for shape in ((5, 7, 6), (2, 3, 9))]
    assert update_flops(small_config(), batches) == sum(expected)


@pytest.mark.parametrize(
    ("card", "tera"),
    [
        ("NVIDIA H100 80GB HBM3", 989.5),
        ("NVIDIA H100 PCIe", 756.5),
        ("NVIDIA H200", 989.5),
        ("NVIDIA L4", 121.0),
        ("NVIDIA A100-SXM4-80GB", 312.0),
        ("NVIDIA L40S", 362.0),
        ("NVIDIA GeForce RTX 4090", 165.2),
        ("NVIDIA A10G", None),
        ("Tesla T4", None),
        ("NVIDIA L400", None),
        ("NVIDIA A100-SXM4-80GB MIG 1g.10gb", None),
    ],
)
def test_a_cards_peak_is_found_by_its_name(card, tera):
    assert peak_flops(card) == (None if tera is None else tera * 1e12)


def test_a_cpu_has_no_peak_to_compare_with():
    assert device_peak_flops(torch.device("cpu")) is None


@pytest.mark.parametrize(
    ("peak", "text"), [(1e9, "500 target tokens/s, model FLOPs utilisation 20.0 %  "), (None, "500 target tokens/s  ")]
)
def test_a_report_has_tokens_a_second_and_where_the_card_is_known_model_flops_utilisation(
    monkeypatch, caplog, peak, text
):
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    throughput = Throughput(Progress(step=4), 10, peak)
    for _ in range(4):
        throughput.count(loss=2.0, tokens=250, flops=100_000_000)
    now[0] += 2
    with caplog.at_level(logging.INFO):
        assert throughput.report(1e-3) == 500
    assert text in caplog.text
