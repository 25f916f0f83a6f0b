"""Masks: True = may attend."""

import pytest
import torch
from support.models import BATCH, SOURCE, TARGET, random_ids, small_model
from support.tolerance import near
from torch.nn.attention import SDPBackend, sdpa_kernel

from transformer.model.attention import causal_mask, padding_mask, target_mask


def test_masks_are_true_on_words_and_on_the_present_and_the_past():
    assert padding_mask(torch.tensor([[5, 6, 0], [7, 0, 0]]), 0).tolist() == [
        [[[True, True, False]]],
        [[[True, False, False]]],
    ]
    assert padding_mask(torch.tensor([[0, 9]]), pad_id=9).tolist() == [[[[True, False]]]]
    assert causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    # The first token is never padding: some decoders begin with <pad>.
    causal_words = [[True, False, False], [True, True, False], [True, True, False]]
    assert target_mask(torch.tensor([[2, 6, 0], [0, 6, 0]]), 0).tolist() == [[causal_words], [causal_words]]


@pytest.mark.parametrize("backends", [[SDPBackend.FLASH_ATTENTION, SDPBackend.MATH], [SDPBackend.MATH]])
def test_a_source_of_all_padding_gives_no_nan_forwards_or_backwards(backends):
    model = small_model().train()
    source, target = random_ids(BATCH, SOURCE), random_ids(BATCH, TARGET, seed=2)
    source[3] = 0
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
    assert model(padded_source, padded_target)[:, :TARGET] == near(model(source, target))
