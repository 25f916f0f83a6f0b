"""Gradient norms by layer at initialisation, pre-norm beside post-norm (Xiong et al. 2020, figure 3)."""

from dataclasses import dataclass, replace

import torch

from ..config import ModelConfig, Norm
from ..data.batching import Examples, collate
from ..model.transformer import Transformer
from ..training.optimization import smoothed_cross_entropy


@dataclass(frozen=True)
class GradientNorms:
    """Euclidean norms of the loss's gradient with respect to W_2 of each layer's feed-forward, first layer first, and
    the loss itself, in nats a token. Of a model with random weights."""

    norm: Norm
    encoder: tuple[float, ...]
    decoder: tuple[float, ...]
    loss: float


def gradient_norms(config: ModelConfig, norm: Norm, layers: int, examples: Examples, seed: int) -> GradientNorms:
    """Initialise a model of this shape with so many layers a side, feed it the examples, and go back once.

    Both norms begin with the same random matrices for a seed. Dropout is left out; the global generator of random
    numbers is left as it was.
    """
    shape = replace(config, norm=norm, num_encoder_layers=layers, num_decoder_layers=layers, dropout=0.0)
    with torch.random.fork_rng(devices=[]), torch.inference_mode(False), torch.enable_grad():
        torch.manual_seed(seed)
        model = Transformer(shape)
        source, decoder_input, target = collate(examples, shape.pad_id)
        tokens = int((target != shape.pad_id).sum())
        loss = smoothed_cross_entropy(model(source, decoder_input), target, shape.pad_id, 0.1) / tokens
        loss.backward()
    return GradientNorms(norm=norm, encoder=_norms(model.encoder), decoder=_norms(model.decoder), loss=loss.item())


def _norms(stack: torch.nn.ModuleList) -> tuple[float, ...]:
    return tuple(layer.feed_forward.outer.weight.grad.norm().item() for layer in stack)  # type: ignore[operator, union-attr]
