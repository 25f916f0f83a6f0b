"""The greatest logit from products of 8 bits: the token that all logits give, also for close logits."""

import pytest
import torch
from support.models import small_config
from torch.nn import functional as F

from transformer.decoding.sampling import Greedy, decode, decode_ids
from transformer.model import layers, rough_choice
from transformer.model.layers import OutputProjection
from transformer.model.rough_choice import RoughChoice, largest_exact_digit
from transformer.model.transformer import Transformer


@pytest.fixture(autouse=True, params=[127, 63])
def largest_digit(request, monkeypatch):
    """Choose with the digits of each kind of processor; where this one would lose some, by slower exact products."""
    if largest_exact_digit() < request.param:
        monkeypatch.setattr(torch, "_int_mm", lambda one, other: (one.double() @ other.double()).int())
    for module in (rough_choice, layers):
        monkeypatch.setattr(module, "largest_exact_digit", lambda: request.param)


def saturating(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Sum pairs of products in 16 bits, the vector's bytes shifted to 0 and above, as AVX2 does."""
    pairs = ((one.int() + 128)[:, :, None] * other.int()[None]).unflatten(1, (-1, 2)).sum(2)
    return pairs.clamp(-(2**15), 2**15 - 1).sum(1) - 128 * other.int().sum(0)


@pytest.mark.parametrize(
    ("product", "digit"),
    [(lambda one, other: one.int() @ other.int(), 127), (saturating, 63), (lambda one, other: one.int()[:, :1], 0)],
)
def test_digits_are_as_large_as_the_processor_sums_exactly(product, digit, monkeypatch):
    monkeypatch.setattr(torch, "_int_mm", product)
    largest_exact_digit.cache_clear()
    try:
        assert largest_exact_digit() == digit
    finally:
        largest_exact_digit.cache_clear()


def choose(weight, x, never=()) -> tuple[list[int], list[int], int]:
    """Return the rough choice, that of all logits, and the number of times that all logits were computed."""
    logits, calls = F.linear(x, weight), []
    logits[:, list(never)] = -torch.inf
    of_all = logits.argmax(dim=1)
    chosen = RoughChoice(weight).choose(x, never, lambda: calls.append(1) or of_all)
    return chosen.tolist(), of_all.tolist(), len(calls)


def random(rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(6)
    return 0.1 * torch.randn(300, 32), torch.randn(rows, 32)


@pytest.mark.parametrize("rows", [1, 3, 64])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_it_is_the_token_of_the_greatest_logit(rows, scale):
    torch.manual_seed(rows)
    weight, x = torch.randn(900, 32) * scale, torch.randn(rows, 32)
    best = F.linear(x, weight).argmax(dim=1).tolist()
    for never in ((), (0, 5), tuple(set(best))):
        chosen, expected, calls = choose(weight, x, never)
        assert chosen == expected and (calls == 0 or rows > 1)


def test_rounding_that_raises_one_token_and_lowers_another_does_not_decide():
    """Token 7's bytes are 30 less than token 3's, nearly two bounds, and its logit is greater."""
    digits = torch.full((9, 32), -20.0)
    digits[0] = -127.0
    digits[3] = 10.51  # rounded to 11
    digits[7] = 10.49  # rounded to 10
    digits[7, :2] = 11.49
    assert digits[7].round().sum() < digits[3].round().sum() - 29
    assert choose(digits * 0.01, torch.ones(1, 32)) == ([7], [7], 0)


def test_vectors_without_a_finite_scale_and_ties_of_most_tokens_are_left_to_all_logits():
    noise, x = random(20)
    vectors = torch.zeros(1, 32), torch.full((1, 32), torch.nan), torch.full((2, 32), torch.inf)
    for weight, each in (*((noise, vector) for vector in vectors), (1 + 1e-2 * noise, x)):
        chosen, expected, calls = choose(weight, each)
        assert chosen == expected and calls == 1


@pytest.mark.parametrize("lead", [0.0, 1e-6, 5e-5])
@pytest.mark.parametrize(("rows", "close"), [(1, 0), (20, 7)])
def test_a_lead_within_the_difference_of_kernels_is_left_to_all_logits(lead, rows, close):
    weight, x = random(rows)
    weight[17] = x[close] / x[close].norm()
    weight[203] = weight[17] * (1 + lead)
    chosen, expected, calls = choose(weight, x)
    assert chosen == expected and chosen[close] == (203 if lead else 17) and calls == 1


@pytest.mark.parametrize("sources", [[[5, 9, 8, 3]], [[5, 9, 8, 3], [4, 3], [7, 6, 9, 4, 10, 3]]])
def test_greedy_decoding_uses_it_and_gives_the_same_ids(sources, monkeypatch):
    torch.manual_seed(4)
    model, calls, original = Transformer(small_config()).eval(), [], RoughChoice.choose
    monkeypatch.setattr(RoughChoice, "choose", lambda *arguments: calls.append(1) or original(*arguments))
    expected = [list(one.ids) for one in decode(model, sources, Greedy())]  # with probabilities, of all logits
    assert not calls
    assert decode_ids(model, sources, Greedy()) == expected
    assert len(calls) == max(map(len, expected))


def test_it_is_not_used_with_gradients_a_hook_a_bias_or_in_float64():
    plain, others = OutputProjection(8, 20), [OutputProjection(8, 20, bias=True), OutputProjection(8, 20).double()]
    hooked = OutputProjection(8, 20)
    hooked.register_forward_hook(lambda module, inputs, output: None)
    assert plain.rough_choice() is None
    with torch.inference_mode():
        assert plain.rough_choice() and not any(each.rough_choice() for each in (*others, hooked))
