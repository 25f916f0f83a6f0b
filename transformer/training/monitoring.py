"""What a run reports while it goes on: throughput, model FLOPs utilisation, TensorBoard's event files."""

import logging
import re
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from ..config import ModelConfig
from ..errors import ConfigError
from .state import Progress
from .updates import Tensors

logger = logging.getLogger(__name__)

_REPORT_SECONDS = 15  # between two lines of progress


class Throughput:
    """Measures what a progress line reports: mean loss in nats, target tokens a second, remaining time.

    Model FLOPs utilisation (Chowdhery et al. 2022, appendix B) is reported too where `peak_flops` is known: how many
    operations a second this process's card reaches at most.
    """

    def __init__(self, progress: Progress, max_steps: int, peak_flops: float | None = None):
        self._progress, self._max_steps, self._peak_flops = progress, max_steps, peak_flops
        self._started = time.monotonic() - progress.seconds
        self._reset()

    def count(self, loss: float, tokens: int, flops: int) -> None:
        """Add one step: its loss, its target tokens, and the operations that this process computed for it."""
        self._losses += loss
        self._tokens += tokens
        self._flops += flops
        self._steps += 1

    def due(self) -> bool:
        """Return True when the last report is long enough ago."""
        return time.monotonic() - self._reported >= _REPORT_SECONDS

    def seconds(self) -> float:
        """Time spent on this run so far, earlier sessions included."""
        return time.monotonic() - self._started

    def report(self, rate: float) -> float:
        """Log one line of progress over the time since the last one; returns target tokens a second."""
        elapsed, progress, steps = time.monotonic() - self._reported, self._progress, max(1, self._steps)
        tokens_a_second = self._tokens / elapsed
        minutes_left = (self._max_steps - progress.step) * elapsed / steps / 60
        used = f", model FLOPs utilisation {self._flops / elapsed / self._peak_flops:.1%}" if self._peak_flops else ""
        line = "step %d/%d  epoch %d  loss %.3f  rate %.2e  %.0f target tokens/s%s  %.0f min left"
        position = progress.step, self._max_steps, progress.epoch + 1
        logger.info(line, *position, self._losses / steps, rate, tokens_a_second, used.replace("%", " %"), minutes_left)
        self._reset()
        return tokens_a_second

    def _reset(self) -> None:
        self._reported = time.monotonic()
        self._tokens = self._steps = self._flops = 0
        self._losses = 0.0


# Dense bfloat16 products with float32 sums, in 10^12 operations a second. From NVIDIA's datasheets of the cards, which
# often print the figure with sparsity, twice as much, and the whitepapers on the architectures GA102 (RTX 30, A6000),
# AD102 (RTX 40) and GB202 (RTX 50). The first name that fits counts.
_PEAK_TERAFLOPS = (
    ("B200", 2250.0),
    ("H200 NVL", 835.5),
    ("H200", 989.5),
    ("GH200", 989.5),
    ("H100 NVL", 835.5),
    ("H100 PCIe", 756.5),
    ("H100", 989.5),
    ("A100", 312.0),
    ("A40", 149.7),
    ("A30", 165.0),
    ("A10", 125.0),
    ("L40S", 362.0),
    ("L40", 181.0),
    ("L4", 121.0),
    ("RTX 5090", 209.5),
    ("RTX 4090", 165.2),
    ("RTX 3090", 71.0),
    ("RTX A6000", 154.8),
)


def peak_flops(card: str) -> float | None:
    """Operations a second that a card of this name reaches at most in bfloat16; None where that is not known here."""
    if " MIG " in card:
        return None  # a slice of a card
    for name, tera in _PEAK_TERAFLOPS:
        if re.search(rf"\b{name}\b", card):
            return tera * 1e12
    return None


def device_peak_flops(device: torch.device) -> float | None:
    """Do the same for a device; None for all but known GPUs."""
    return peak_flops(torch.cuda.get_device_name(device)) if device.type == "cuda" else None


def training_flops(config: ModelConfig, rows: int, source: int, target: int) -> int:
    """Operations, a product and a sum counting two, of the matrix products of one training step.

    For a batch of `rows` sentences, padded to `source` and `target` tokens, as the device computes it: padding counts.
    Forward once, and backward twice as much, for the gradients of inputs and of weights (Kaplan et al. 2020, 2.1;
    Chowdhery et al. 2022, appendix B).
    """
    d = config.d_model
    projections = 4 * d * d  # query, key, value and output, a token
    feed_forward = 2 * d * config.d_ff
    encoder = source * (projections + feed_forward) + _attention_products(source, source, d)
    self_attention = target * projections + _attention_products(target, target, d)
    cross_attention = (source + target) * projections // 2 + _attention_products(target, source, d)
    decoder = self_attention + cross_attention + target * feed_forward
    products = config.num_encoder_layers * encoder + config.num_decoder_layers * decoder
    products += target * d * config.vocab_size  # the output projection
    return 3 * 2 * rows * products


def _attention_products(queries: int, keys: int, d_model: int) -> int:
    """Products of one attention: of the scores, and of weights with values."""
    return 2 * queries * keys * d_model


def update_flops(config: ModelConfig, batches: Sequence[Tensors]) -> int:
    """Do the same for all batches of an update."""
    return sum(training_flops(config, *source.shape, fed.shape[1]) for source, fed, _ in batches)  # type: ignore[call-arg, misc]


class Events:
    """Writes TensorBoard's event files, those after `step` void; raises ConfigError where its package is missing."""

    def __init__(self, folder: Path, step: int):
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            message = "TensorBoard's event files need the package tensorboard: pip install tensorboard."
            raise ConfigError(message) from error
        self._writer = SummaryWriter(str(folder), purge_step=step + 1)

    def add(self, values: dict[str, float], step: int) -> None:
        """Add a point to each of these curves, and hand it to the disk."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)
        self._writer.flush()

    def close(self) -> None:
        """No more points will come."""
        self._writer.close()
