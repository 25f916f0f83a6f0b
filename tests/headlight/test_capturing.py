"""`hl.capture`: weights by module and call; the module computes, learns and stays as without it."""

import threading

import numpy as np
import pytest
import torch
from support.other_models import FAMILIES, read_page, tiny_model
from torch import nn

import headlight as hl

SOURCE, TARGET = torch.randn(2, 5, 12), torch.randn(2, 7, 12)
MASK = nn.Transformer.generate_square_subsequent_mask(7)
NAMES = [f"encoder.layers.{number}.self_attn" for number in (0, 1)]
NAMES += [f"decoder.layers.0.{name}" for name in ("self_attn", "multihead_attn")]


def translator(**options) -> nn.Transformer:
    torch.manual_seed(1)
    return nn.Transformer(12, 3, 2, 1, 20, batch_first=True, **options)


def by_hand(attention: nn.MultiheadAttention, inputs: torch.Tensor) -> torch.Tensor:
    """Compute the weights of self-attention without a mask."""
    mapped = inputs @ attention.in_proj_weight.T + attention.in_proj_bias
    parts = (part.unflatten(-1, (attention.num_heads, -1)).transpose(1, 2) for part in mapped.chunk(3, dim=-1)[:2])
    query, key = parts
    return torch.softmax(query @ key.transpose(2, 3) / query.shape[-1] ** 0.5, dim=-1)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_outputs_and_gradients_are_bit_identical_with_and_without(training, dtype):
    """Also in training, where dropout draws the same random numbers."""
    model, results = translator().to(dtype).train(training), []
    source, target, mask = (each.to(dtype) for each in (SOURCE, TARGET, MASK))
    for captured in (False, True):
        torch.manual_seed(2)
        model.zero_grad()
        if captured:
            with hl.capture(model) as attention:
                output = model(source, target, tgt_mask=mask)
        else:
            output = model(source, target, tgt_mask=mask)
        output.square().sum().backward()
        results.append([output.detach(), *(each.grad.clone() for each in model.parameters())])
    assert all(map(torch.equal, *results))
    assert list(attention) == NAMES and all(len(calls) == 1 for calls in attention.values())
    assert not any(calls[0].requires_grad for calls in attention.values())
    if dtype == torch.float32:
        first = by_hand(model.encoder.layers[0].self_attn, SOURCE)
        torch.testing.assert_close(attention[NAMES[0]][0], first.detach())
        assert not attention[NAMES[2]][0].triu(1).any() and attention[NAMES[3]][0].shape == (2, 3, 7, 5)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_without_the_fast_path_of_inference_outputs_are_equal_within_rounding():
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(12, 4, 20, batch_first=True), 2).eval()
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    with torch.inference_mode():
        alone = encoder(SOURCE, src_key_padding_mask=padding)
        with hl.capture(encoder) as attention:
            inside = encoder(SOURCE, src_key_padding_mask=padding)
    torch.testing.assert_close(inside[~padding], alone[~padding], atol=1e-5, rtol=1e-5)
    assert [len(calls) for calls in attention.values()] == [1, 1]
    assert not attention["layers.1.self_attn"][0][1, ..., 3:].any()
    assert torch.backends.mha.get_fastpath_enabled()


@pytest.mark.parametrize("family", FAMILIES)
def test_models_of_transformers_give_the_weights_that_they_return(family):
    model, inputs = tiny_model(family)
    model.set_attn_implementation("sdpa")
    with torch.no_grad():
        alone = model(**inputs)[0]
        with hl.capture(model) as attention:
            inside = model(**inputs)[0]
        assert model.config._attn_implementation == "sdpa"
        model.set_attn_implementation("eager")
        output = model(**inputs, output_attentions=True)
    torch.testing.assert_close(inside, alone, atol=1e-4, rtol=1e-4)
    assert torch.equal(inside, output[0]), "that is eager attention's"
    names = ("attentions", "encoder_attentions", "decoder_attentions", "cross_attentions")
    returned = {id(each): each for name in names for each in output.get(name) or ()}
    recorded = [calls[0] for calls in attention.values()]
    assert len(recorded) == len(returned)
    assert all(any(torch.equal(one, each) for each in returned.values()) for one in recorded)
    assert attention.explore().page == hl.explore(output).page


def test_every_call_is_kept_and_shown():
    model = translator().eval()
    with hl.capture(model) as attention:
        model(SOURCE, TARGET)
        other = threading.Thread(target=lambda: model(SOURCE, TARGET))
        other.start()
        other.join()
        model(TARGET, SOURCE)
    assert [[len(each[0, 0]) for each in calls] for calls in attention.values()] == [[5, 7]] * 2 + [[7, 5]] * 2
    assert attention.explore(batch=1, call=0, source=list("abcde"), target=list("tuvwxyz")).page
    assert attention.explore(list("abcdefg"), batch=0, modules="encoder.*").page
    with pytest.raises(ValueError, match=r"'vision\.\*'"):
        attention.explore(modules="vision.*")
    model(SOURCE, TARGET)
    assert len(attention[NAMES[0]]) == 2, "nothing is recorded afterwards"
    attention.clear()
    assert len(attention) == 0 and not any(module._forward_hooks for module in model.modules())


def test_a_generation_is_shown_as_one_map():
    model, inputs = tiny_model("GPT2")
    with hl.capture(model) as attention, torch.no_grad():
        output = model.generate(**inputs, max_new_tokens=4, min_new_tokens=4, pad_token_id=39)
    with torch.no_grad():
        whole = model(output[:, :-1], output_attentions=True)
    shown, expected = (read_page(each.page)[1] for each in (attention.explore(call=None), hl.explore(whole)))
    np.testing.assert_allclose(shown["encoder"], expected["encoder"], atol=2e-5)
    assert [len(calls) for calls in attention.values()] == [4, 4]


def test_a_module_is_as_before_after_an_error_and_without_attention_refused():
    model = translator()
    with pytest.raises(RuntimeError), hl.capture(model):
        model(SOURCE, TARGET[..., :5])
    assert not any(module._forward_hooks for module in model.modules())
    assert torch.backends.mha.get_fastpath_enabled()
    with (
        pytest.raises(ValueError, match="or a model of transformers, got Linear"),
        hl.capture(nn.Linear(1, 1)),
    ):
        pass
