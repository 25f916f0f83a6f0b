"""Small experiments with training: gradients at initialisation, label smoothing, and one pass against many steps."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from ..config import ModelConfig, Norm, require
from ..data.batching import Examples, Ids, collate
from ..model.attention import causal_mask
from ..model.names import Name
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
    with torch.random.fork_rng(devices=[]), torch.inference_mode(mode=False), torch.enable_grad():
        torch.manual_seed(seed)
        model = Transformer(shape)
        source, decoder_input, target = collate(examples, shape.pad_id)
        tokens = int((target != shape.pad_id).sum())
        loss = smoothed_cross_entropy(model(source, decoder_input), target, shape.pad_id, 0.1) / tokens
        torch.autograd.backward(loss)
    return GradientNorms(norm=norm, encoder=_norms(model.encoder), decoder=_norms(model.decoder), loss=loss.item())


def _norms(stack: torch.nn.ModuleList) -> tuple[float, ...]:
    return tuple(layer.feed_forward.outer.weight.grad.norm().item() for layer in stack)  # type: ignore[operator, union-attr]


_GOLDEN = (math.sqrt(5) - 1) / 2
_NARROWINGS = 90  # of an interval of length 1: it ends below the distance of two neighbouring numbers


class SmoothingForm(Name):
    """Over which classes the mass is spread."""

    ALL = "all classes"
    OTHERS = "all but target and padding"


@dataclass(frozen=True)
class Smoothing:
    """A target of which the mass `epsilon` is taken from the right class and spread over `form` of `classes`.

    "all classes": Szegedy et al. 2016, which is PyTorch's CrossEntropyLoss(label_smoothing=epsilon); the right
    class and padding get their part of it too. "all but target and padding": the Annotated Transformer's
    LabelSmoothing. `classes` counts padding. Raises ConfigError for what cannot be.
    """

    form: SmoothingForm
    epsilon: float
    classes: int

    def __post_init__(self) -> None:
        forms = ", ".join(SmoothingForm)
        require(self.form in tuple(SmoothingForm), f"The form of smoothing must be one of {forms}, not {self.form!r}.")
        require(0 <= self.epsilon < 1, f"Epsilon must be at least 0 and less than 1, not {self.epsilon}.")
        classes = "Smoothing needs at least 3 classes: the right one, padding, another"
        require(self.classes >= 3, f"{classes}; not {self.classes}.")

    @property
    def others(self) -> int:
        """Count the classes that share what the right class lacks."""
        return self.classes - 1 if self.form == SmoothingForm.ALL else self.classes - 2

    @property
    def right(self) -> float:
        """Return the mass of the right class."""
        return 1 - self.epsilon + (self.epsilon / self.classes if self.form == SmoothingForm.ALL else 0.0)

    @property
    def wrong(self) -> float:
        """Return the mass of each of the others."""
        return self.epsilon / (self.classes if self.form == SmoothingForm.ALL else self.others)

    @property
    def entropy(self) -> float:
        """Return the entropy of the target in nats: the least cross-entropy that any model can have."""
        return 0.0 - _times_log(self.right, self.right) - self.others * _times_log(self.wrong, self.wrong)

    def targets(self, ids: Sequence[int], pad_id: int) -> np.ndarray:
        """Return what each position is trained towards: [positions, classes]; padding has a row of zeros."""
        right = np.asarray(ids)
        table = np.full((len(ids), self.classes), self.wrong)
        if self.form == SmoothingForm.OTHERS:
            table[:, pad_id] = 0.0
        table[np.arange(len(ids)), right] = self.right
        table[right == pad_id] = 0.0
        return table

    def cross_entropy(self, confidence: float) -> float:
        """Return the loss in nats where the model gives `confidence` to the right class, the rest to the others.

        Raises ValueError for a confidence that is not between 0 and 1; infinite where no loss is.
        """
        if not 0 <= confidence <= 1:
            raise ValueError(f"a confidence lies between 0 and 1, got {confidence}")
        rest = (1 - confidence) / self.others
        return 0.0 - _times_log(self.right, confidence) - self.others * _times_log(self.wrong, rest)

    def divergence(self, confidence: float) -> float:
        """Return the Kullback-Leibler divergence of target and model: cross-entropy without the target's entropy."""
        return self.cross_entropy(confidence) - self.entropy

    def find_minimum(self) -> tuple[float, float]:
        """Find the confidence of the least cross-entropy and that loss, by golden section.

        The closed form is (right, entropy), which the search does not use. Near its minimum the loss is so flat that
        rounding hides a confidence's digits beyond the eighth.
        """
        low, high = 0.0, 1.0
        for _ in range(_NARROWINGS):
            step = _GOLDEN * (high - low)
            if self.cross_entropy(high - step) <= self.cross_entropy(low + step):
                high = low + step
            else:
                low = high - step
        best = (low + high) / 2
        return best, self.cross_entropy(best)


def _times_log(mass: float, probability: float) -> float:
    """Return mass log(probability), 0 for no mass whatever the probability."""
    if mass == 0:
        return 0.0
    return mass * math.log(probability) if probability > 0 else -math.inf


_ROUNDS = 5
_MOST_STEPS = 400  # steps one by one, over all rounds: a long text gets fewer rounds


@dataclass(frozen=True)
class Comparison:
    """Seconds of each round, both ways in turns, and the largest difference between their logits."""

    parallel: tuple[float, ...]
    cached: tuple[float, ...]
    difference: float


@torch.inference_mode()
def compare_parallel_and_cached(model: Transformer, source: Ids, decoder_input: Ids) -> Comparison:
    """Time the logits of every target row in one pass, and step by step with cached keys; without the encoder."""
    memory = model.encode(torch.tensor([list(source)], device=model.device), None)
    target = torch.tensor([list(decoder_input)], device=model.device)
    at_once(model, target, memory), step_by_step(model, target, memory)  # not counted: what is done once
    parallel, cached = list[float](), list[float]()
    for _ in range(max(1, min(_ROUNDS, _MOST_STEPS // len(decoder_input)))):
        at_once_logits = _timed(parallel, lambda: at_once(model, target, memory))
        stepwise_logits = _timed(cached, lambda: step_by_step(model, target, memory))
    return Comparison(tuple(parallel), tuple(cached), (at_once_logits - stepwise_logits).abs().max().item())


def at_once(model: Transformer, target: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
    """Compute logits [target, vocab] from the target [1, target] and the memory, as in training."""
    hidden = model.decode(target, memory, causal_mask(target.shape[1], model.device), None)
    logits: torch.Tensor = model.output_projection(hidden)[0]
    return logits


def step_by_step(model: Transformer, target: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
    """Compute the same logits, a token at a time, as in decoding."""
    caches = model.start_caches(memory, target.shape[1])
    return torch.cat([model.step(target[:, step : step + 1], caches, None) for step in range(target.shape[1])])


def _timed(times: list[float], work: Callable[[], torch.Tensor]) -> torch.Tensor:
    started = time.perf_counter()
    logits = work().cpu()  # waits for a GPU
    times.append(time.perf_counter() - started)
    return logits
