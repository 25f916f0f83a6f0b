"""How a run goes: tokens a second, model FLOPs utilisation, TensorBoard's event files."""

import logging
import re
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from ..config import ModelConfig
from ..errors import ConfigError
from .loader import Tensors
from .state import Progress

logger = logging.getLogger(__name__)

_REPORT_SECONDS = 15  # between two lines of progress


class Meter:
    """Counts what a progress line tells: mean loss in nats, target tokens a second, remaining time.

    `peak` is how many operations a second this process's card reaches at most, None where that is not known.
    """

    def __init__(self, progress: Progress, max_steps: int, peak: float | None = None):
        self.progress, self.max_steps, self.peak = progress, max_steps, peak
        self.started = time.monotonic() - progress.seconds
        self.reported = time.monotonic()
        self.tokens = self.steps = self.flops = 0
        self.recent = 0.0  # sum of the losses since the last report

    def count(self, loss: float, tokens: int, flops: int) -> None:
        """Add one step: its loss, its target tokens, and the operations that this process computed for it."""
        self.recent += loss
        self.tokens += tokens
        self.flops += flops
        self.steps += 1

    def due(self) -> bool:
        """True when the last report is long enough ago."""
        return time.monotonic() - self.reported >= _REPORT_SECONDS

    def seconds(self) -> float:
        """Time spent on this run so far, earlier sessions included."""
        return time.monotonic() - self.started

    def report(self, rate: float) -> float:
        """One line of progress over the time since the last one; returns target tokens a second."""
        elapsed = time.monotonic() - self.reported
        speed = self.tokens / elapsed
        share = f", {100 * self.flops / elapsed / self.peak:.1f} % of the card's peak" if self.peak else ""
        remaining = (self.max_steps - self.progress.step) * elapsed / max(1, self.steps)
        logger.info(
            "step %d/%d  epoch %d  loss %.3f  rate %.2e  %.0f target tokens/s%s  %d min left",
            self.progress.step, self.max_steps, self.progress.epoch + 1,
            self.recent / max(1, self.steps), rate,
            speed, share, round(remaining / 60),
        )  # fmt: skip
        self.tokens = self.steps = self.flops = 0
        self.reported, self.recent = time.monotonic(), 0.0
        return speed


# Dense bfloat16 products with float32 sums, in 10^12 operations a second. From NVIDIA's datasheets of the cards, which
# often print the figure with sparsity, twice as much, and the whitepapers on the architectures GA102 (RTX 30, A6000),
# AD102 (RTX 40) and GB202 (RTX 50). The first name that fits counts.
_PEAKS = (
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
    for name, tera in _PEAKS:
        if re.search(rf"\b{name}\b", card):
            return tera * 1e12
    return None


def device_peak(device: torch.device) -> float | None:
    """The same for a device; None for all but known GPUs."""
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
    encoder = source * (projections + feed_forward) + 2 * source * source * d  # scores, and weights times values
    decoder = (
        target * (projections + feed_forward) + 2 * target * target * d  # self-attention
        + 2 * target * d * d + 2 * source * d * d + 2 * target * source * d  # cross-attention: Q and O, K and V
    )  # fmt: skip
    products = config.num_encoder_layers * encoder + config.num_decoder_layers * decoder
    products += target * d * config.vocab_size  # the generator
    return 3 * 2 * rows * products


def update_flops(config: ModelConfig, batches: Sequence[Tensors]) -> int:
    """The same for source, fed and predicted target of each batch of an update."""
    return sum(training_flops(config, *source.shape, fed.shape[1]) for source, fed, _ in batches)


class Events:
    """Writes event files to `folder`; those of an earlier session that lie after `step` no longer count.

    Raises ConfigError when the package that knows their format is not installed.
    """

    def __init__(self, folder: Path, step: int):
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise ConfigError(
                "TensorBoard's event files need the package tensorboard: pip install tensorboard."
            ) from error
        self._writer = SummaryWriter(str(folder), purge_step=step + 1)

    def add(self, values: dict[str, float], step: int) -> None:
        """Add a point to each of these curves, and hand it to the disk."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)
        self._writer.flush()

    def close(self) -> None:
        """No more points will come."""
        self._writer.close()
