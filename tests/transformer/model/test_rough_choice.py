"""The greatest logit from products of 8 bits: the same token as from all logits, whatever is close to what."""

import pytest
import torch
from support.models import small_config
from torch.nn import functional as F

from transformer.decoding.sampling import DecodingState, Greedy, decode, decode_ids
from transformer.model.layers import OutputProjection
from transformer.model.rough_choice import RoughChoice
from transformer.model.transformer import Transformer


@pytest.fixture(autouse=True)
def exact_products(monkeypatch):
    """Where the processor's own products of bytes would lose digits, slower ones take their place."""
    if not RoughChoice.is_exact_here():
        monkeypatch.setattr(torch, "_int_mm", lambda one, other: (one.double() @ other.double()).int())
        monkeypatch.setattr(RoughChoice, "is_exact_here", lambda: True)


class Asked:
    """The choice from all logits, which counts how often it is asked for."""

    def __init__(self, weight, x, never=()):
        self.logits, self.times = F.linear(x, weight), 0
        self.logits[:, list(never)] = -torch.inf

    def __call__(self):
        self.times += 1
        return self.logits.argmax(dim=1)


def chosen(weight, x, never=()):
    asked = Asked(weight, x, never)
    found = RoughChoice(weight).choose(x, never, asked)
    return found.tolist(), asked


@pytest.mark.parametrize("rows", [1, 3, 64])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_it_is_the_token_of_the_greatest_logit(rows, scale):
    torch.manual_seed(rows)
    weight, x = torch.randn(900, 32) * scale, torch.randn(rows, 32)
    best = F.linear(x, weight).argmax(dim=1).tolist()
    for never in ((), (0, 5), tuple(set(best))):
        found, asked = chosen(weight, x, never)
        assert found == asked.logits.argmax(dim=1).tolist()
        assert asked.times == 0 or rows > 1


@pytest.mark.parametrize("ahead", [3e-3, -3e-3])
def test_a_lead_far_below_a_byte_s_unit_decides(ahead):
    """Rounded alone, both are the same row of bytes."""
    torch.manual_seed(5)
    weight, x = 0.1 * torch.randn(300, 32), torch.randn(4, 32)
    weight[17] = 0.9 * x[0] / x[0].norm()
    weight[203] = weight[17] * (1 + ahead)
    found, asked = chosen(weight, x[:1])
    assert found == [203 if ahead > 0 else 17]
    assert asked.times == 0


def test_many_rows_that_bytes_leave_open_are_decided_together():
    """Each has two rows of bytes that are alike, and of some the first, of some the second is the greater."""
    torch.manual_seed(6)
    weight, x = 0.1 * torch.randn(300, 32), torch.randn(20, 32)
    for row in range(0, 20, 2):
        weight[17 + row] = x[row] / x[row].norm()
        weight[203 + row] = weight[17 + row] * (1 + (row % 4 - 1) * 3e-3)
    found, asked = chosen(weight, x)
    assert found == asked.logits.argmax(dim=1).tolist()
    assert {203 + row for row in range(2, 20, 4)} | {17 + row for row in range(0, 20, 4)} <= set(found)
    assert asked.times == 0


def test_one_row_of_many_that_is_too_close_to_call_is_left_to_all_logits():
    torch.manual_seed(6)
    weight, x = 0.1 * torch.randn(300, 32), torch.randn(20, 32)
    weight[17] = weight[203] = x[7] / x[7].norm()
    found, asked = chosen(weight, x)
    assert found == asked.logits.argmax(dim=1).tolist() and asked.times == 1


def test_where_most_tokens_could_be_the_greatest_they_are_not_gathered():
    found, asked = chosen(torch.ones(300, 32) + 1e-3 * torch.randn(300, 32), torch.randn(20, 32))
    assert found == asked.logits.argmax(dim=1).tolist() and asked.times == 1


def test_what_is_too_close_to_call_is_left_to_all_logits():
    torch.manual_seed(5)
    weight, x = 0.1 * torch.randn(300, 32), torch.randn(1, 32)
    weight[17] = weight[203] = x[0] / x[0].norm()
    found, asked = chosen(weight, x)
    assert found == [17] and asked.times == 1


def test_rounding_that_raises_one_token_and_lowers_another_does_not_decide():
    """Token 7's bytes are 30 less than token 3's, nearly two bounds, and its logit is greater."""
    unit, x = 0.01, torch.ones(1, 32)
    digits = torch.full((9, 32), -20.0)
    digits[0] = -127.0
    digits[3] = 10.51  # rounded to 11
    digits[7] = 10.49  # rounded to 10
    digits[7, :2] = 11.49
    found, asked = chosen(digits * unit, x)
    assert asked.logits.argmax() == 7 and digits[7].round().sum() < digits[3].round().sum() - 29
    assert found == [7] and asked.times == 0


@pytest.mark.parametrize("lead", [1e-6, 1e-5, 5e-5])
def test_a_lead_within_what_kernels_differ_by_is_left_to_all_logits(lead):
    torch.manual_seed(5)
    weight, x = 0.1 * torch.randn(300, 32), torch.randn(1, 32)
    weight[17] = x[0] / x[0].norm()
    weight[203] = weight[17] * (1 + lead)
    found, asked = chosen(weight, x)
    assert found == [203] and asked.times == 1


@pytest.mark.parametrize("x", [torch.zeros(1, 32), torch.full((1, 32), torch.nan), torch.full((2, 32), torch.inf)])
def test_what_is_no_number_is_left_to_all_logits(x):
    found, asked = chosen(torch.randn(50, 32), x)
    assert asked.times == 1 and found == asked.logits.argmax(dim=1).tolist()


@pytest.mark.parametrize("sources", [[[5, 9, 8, 3]], [[5, 9, 8, 3], [4, 3], [7, 6, 9, 4, 10, 3]]])
def test_greedy_decoding_takes_it_and_finds_the_same(sources, monkeypatch):
    torch.manual_seed(4)
    model, calls = Transformer(small_config()).eval(), []
    choose = RoughChoice.choose
    monkeypatch.setattr(RoughChoice, "choose", lambda *given: calls.append(1) or choose(*given))
    expected = [list(one.ids) for one in decode(model, sources, Greedy())]  # with probabilities, of all logits
    assert not calls
    assert decode_ids(model, sources, Greedy()) == expected
    assert len(calls) == max(map(len, expected))


def test_where_a_hook_or_a_bias_would_be_missed_it_is_not_taken():
    plain, biased = OutputProjection(8, 20), OutputProjection(8, 20, bias=True)
    model = Transformer(small_config()).eval()
    assert plain.rough_choice() is None  # gradients are on
    with torch.inference_mode():
        assert plain.rough_choice() is not None and biased.rough_choice() is None
        handle = plain.register_forward_hook(lambda module, inputs, output: None)
        assert plain.rough_choice() is None
        handle.remove()
        assert plain.double().rough_choice() is None
        assert DecodingState(model, [[5, 3]], 4)._rough is not None
        model.decoder[0].register_forward_hook(lambda module, inputs, output: None)
        assert DecodingState(model, [[5, 3]], 4)._rough is None


def test_a_changed_weight_changes_the_choice():
    torch.manual_seed(3)
    projection, x, found = OutputProjection(8, 20), torch.randn(1, 8), []
    with torch.no_grad():
        for _ in range(2):
            found += projection.rough_choice().choose(x, (), lambda: projection(x).argmax(dim=1)).tolist()
            assert found[-1] == F.linear(x, projection.weight).argmax(dim=1)
            projection.weight.neg_()
    assert found[0] != found[1]
