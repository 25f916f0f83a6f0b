"""Masks: True = may attend."""

import pytest
import torch
from support.models import BATCH, SOURCE, TARGET, random_ids, small_model
from support.tolerance import near
from torch.nn.attention import SDPBackend, sdpa_kernel

from transformer.model.attention import causal_mask, padding_mask, target_mask


def test_padding_mask_is_true_on_words_and_broadcasts_over_heads_and_queries():
    mask = padding_mask(torch.tensor([[5, 6, 0], [7, 0, 0]]), pad_id=0)
    assert mask.dtype == torch.bool
    assert mask.tolist() == [[[[True, True, False]]], [[[True, False, False]]]]


def test_padding_mask_honours_another_pad_id():
    assert padding_mask(torch.tensor([[0, 9]]), pad_id=9).tolist() == [[[[True, False]]]]


def test_causal_mask_shows_the_present_and_the_past_only():
    mask = causal_mask(3)
    assert mask.tolist() == [[True, False, False], [True, True, False], [True, True, True]]


def test_target_mask_is_causal_and_hides_padding():
    mask = target_mask(torch.tensor([[2, 6, 0]]), pad_id=0)
    assert mask.shape == (1, 1, 3, 3)
    assert mask[0, 0].tolist() == [[True, False, False], [True, True, False], [True, True, False]]


def test_a_causal_mask_of_one_token_sees_itself():
    assert causal_mask(1).tolist() == [[True]]


@pytest.mark.parametrize("backend", ["default", "math"])
def test_a_source_of_all_padding_gives_no_nan_forwards_or_backwards(backend):
    model = small_model().train()
    source, target = random_ids(BATCH, SOURCE), random_ids(BATCH, TARGET, seed=2)
    source[3] = 0
    backends = [SDPBackend.MATH] if backend == "math" else [SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]
    with sdpa_kernel(backends):
        logits = model(source, target)
        logits.sum().backward()
    assert logits.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


@torch.inference_mode()
def test_padding_changes_nothing_for_the_words_beside_it():
    model = small_model()
    source, target = random_ids(BATCH, SOURCE), random_ids(BATCH, TARGET, seed=2)
    padded_source = torch.cat([source, torch.zeros(BATCH, 3, dtype=torch.long)], dim=1)
    padded_target = torch.cat([target, torch.zeros(BATCH, 2, dtype=torch.long)], dim=1)
    alone, beside = model(source, target), model(padded_source, padded_target)[:, :TARGET]
    assert beside == near(alone)
