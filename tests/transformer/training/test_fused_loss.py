"""Output projection and loss in one pass: the loss and every gradient of the plain path, and no trace of padding."""

from dataclasses import replace

import pytest
import torch
from support.models import TARGET, random_ids, small_config
from torch.nn import functional as F

from transformer.config import TrainingConfig
from transformer.model import products
from transformer.model.distributed import Processes
from transformer.model.transformer import Transformer
from transformer.training import fused_loss, updates
from transformer.training.fused_loss import projected_cross_entropy
from transformer.training.optimization import smoothed_cross_entropy
from transformer.training.updates import Objective, Updater

BATCH, WORDS, WIDTH = 8, 31, 24
SETTINGS = TrainingConfig(precision="float32")


@pytest.fixture(params=[3, 7, 512])
def block(request, monkeypatch) -> int:
    """So many positions at once: blocks that end within a sentence, with a rest and without, and one for all."""
    monkeypatch.setattr(fused_loss, "_POSITIONS_AT_ONCE", request.param)
    return request.param


def batch() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Source, decoder input and target, with padding in all of them and a sentence without a target."""
    source, target = random_ids(BATCH, 9), random_ids(BATCH, TARGET + 1, seed=2)
    source[1, 4:], target[1, 3:], target[2, 2:], target[5, 1:] = 0, 0, 0, 0
    return source, target[:, :-1], target[:, 1:]


def tensors(dtype=torch.float64, bias=True) -> list:
    """Vectors, weight and bias, each with a gradient to come."""
    generator = torch.Generator().manual_seed(1)
    shapes = [(BATCH, TARGET, WIDTH), (WORDS, WIDTH), *([(WORDS,)] if bias else [])]
    return [torch.randn(shape, dtype=dtype, generator=generator, requires_grad=True) for shape in shapes]


def compare(parts: list, smoothing: float) -> list[float]:
    """Of the loss and of each gradient, how far one pass is from PyTorch's own operations, relative to the largest."""
    target = batch()[2]
    hidden, weight, bias = [*parts, None][:3]
    plain = smoothed_cross_entropy(F.linear(hidden, weight, bias), target, 0, smoothing)
    fused = projected_cross_entropy(hidden, weight, bias, target, 0, smoothing)
    both = zip([plain, *_gradients(plain, parts)], [fused, *_gradients(fused, parts)], strict=True)
    return [((one - other).abs().max() / one.abs().max()).item() for one, other in both]


def _gradients(loss, parts) -> tuple:
    return torch.autograd.grad(0.3 * loss, parts)  # as where the loss is divided by its tokens


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_loss_and_gradients_are_those_of_the_logits(block, smoothing, bias):
    assert max(compare(tensors(bias=bias), smoothing)) < 1e-12
    assert max(compare(tensors(torch.float32, bias), smoothing)) < 1e-5


def test_a_gradient_that_is_wrong_by_a_ten_thousandth_is_noticed(monkeypatch):
    original = fused_loss._loss_and_gradient

    def spoiled(*arguments):
        loss, gradient = original(*arguments)
        return loss, gradient * (1 + 1e-4)

    monkeypatch.setattr(fused_loss, "_loss_and_gradient", spoiled)
    assert max(compare(tensors(torch.float32), 0.1)) > 5e-5


def test_padding_has_exactly_no_influence(block):
    hidden, weight, bias = tensors()
    target = batch()[2]
    padded = target == 0
    loss = projected_cross_entropy(hidden, weight, bias, target, 0, 0.1)
    of_hidden, *others = torch.autograd.grad(loss, [hidden, weight, bias])
    assert padded.any() and (of_hidden[padded] == 0).all()
    spoiled = hidden.detach().masked_fill(padded[..., None], float("nan")).requires_grad_()
    again = projected_cross_entropy(spoiled, weight, bias, target, 0, 0.1)
    of_spoiled, *of_others = torch.autograd.grad(again, [spoiled, weight, bias])
    assert torch.equal(loss, again) and torch.equal(of_hidden, of_spoiled)
    assert all(torch.equal(one, other) for one, other in zip(others, of_others, strict=True))


def test_a_batch_of_padding_alone_costs_nothing_and_moves_nothing():
    parts = tensors()
    loss = projected_cross_entropy(*parts, torch.zeros(BATCH, TARGET, dtype=torch.long), 0, 0.1)
    assert loss == 0
    assert all((gradient == 0).all() for gradient in torch.autograd.grad(loss, parts))


@pytest.mark.parametrize("scale", [1.0, 0.3])
@pytest.mark.parametrize("changes", [{}, {"share_embeddings": False, "output_bias": True}, {"norm": "pre"}])
def test_an_update_has_the_loss_and_every_gradient_of_the_plain_path(block, changes, scale):
    torch.manual_seed(1)
    model = Transformer(small_config(dropout=0.0, **changes)).double().train()
    model.output_projection.scale = scale
    source, fed, predicted = batch()
    plain = smoothed_cross_entropy(model(source, fed), predicted, 0, SETTINGS.label_smoothing)
    fused = Objective(model, SETTINGS)(source, fed, predicted)
    torch.testing.assert_close(fused, plain, rtol=1e-12, atol=0)
    expected, found = (torch.autograd.grad(loss, list(model.parameters())) for loss in (plain, fused))
    for (name, _), one, other in zip(model.named_parameters(), expected, found, strict=True):
        torch.testing.assert_close(other, one, atol=1e-10, rtol=0, msg=lambda text, name=name: f"{name}: {text}")


def test_an_update_on_a_cpu_takes_both_fast_paths(monkeypatch):
    """Every product with a weight, forward and both backward, is oneDNN's, and no logits of the batch are made."""
    monkeypatch.setattr(products, "_FEWEST_PRODUCTS", 1)
    shapes, original = [], products.onednn_product

    def counted(x, weight, *arguments):
        shapes.append(tuple(x.shape))
        return original(x, weight, *arguments)

    monkeypatch.setattr(products, "onednn_product", counted)
    monkeypatch.setattr(updates, "smoothed_cross_entropy", None)
    config = small_config()
    Updater(Transformer(config).train(), SETTINGS, Processes()).learn([batch()], 20, 1e-3)
    encoder, decoder = 4, 4 + 3  # self-attention and feed-forward, and cross-attention's query, memory and output
    layers = config.num_encoder_layers * encoder + config.num_decoder_layers * decoder
    assert len(shapes) == 3 * (layers + 1)


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "auto"])
def test_only_float32_on_a_cpu_takes_the_one_pass(precision, monkeypatch):
    calls, original = [], updates.projected_cross_entropy
    monkeypatch.setattr(updates, "projected_cross_entropy", lambda *given: calls.append(1) or original(*given))
    model = Transformer(small_config()).train()
    Updater(model, replace(SETTINGS, precision=precision), Processes()).learn([batch()], 20, 1e-3)
    assert len(calls) == (precision != "bfloat16")


def test_an_update_leaves_no_old_copy_of_the_weights_behind(monkeypatch):
    """Those that a decoding step keeps: a fused optimizer changes weights without counting it."""
    model = Transformer(small_config()).eval()
    source, fed, _ = batch()
    updater = Updater(model, SETTINGS, Processes())
    with torch.inference_mode():
        before = model(source[:2], fed[:2])
    updater.learn([batch()], 20, 1e-1)
    with torch.inference_mode():
        after = model(source[:2], fed[:2])
        hidden = model.last_vectors(source[:2], fed[:2])
        torch.testing.assert_close(after, F.linear(hidden, model.output_projection.weight))
    assert (after - before).abs().max() > 0.1


def test_updates_by_onednn_are_the_same_each_time(monkeypatch):
    monkeypatch.setattr(products, "_FEWEST_PRODUCTS", 1)
    ends = []
    for _ in range(2):
        torch.manual_seed(3)
        model = Transformer(small_config()).train()
        updater = Updater(model, SETTINGS, Processes())
        losses = [updater.learn([batch()], 20, 1e-3) for _ in range(3)]
        ends.append((losses, torch.cat([weight.detach().flatten() for weight in model.parameters()])))
    assert ends[0][0] == ends[1][0] and torch.equal(ends[0][1], ends[1][1])
