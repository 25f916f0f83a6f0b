"""Whether a run on a CPU multiplies in bfloat16: what the processor has, and a short trial of both precisions."""

import copy
import dataclasses
import logging
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import torch

from ..config import Precision, TrainingConfig
from ..model.distributed import Processes
from ..model.transformer import Transformer
from .loader import Update
from .updates import NotFiniteError, Tensors, Updater

logger = logging.getLogger(__name__)

TRIED_UPDATES = 4  # the first warms up and is not counted
_RATE = 1e-4  # of the trial's updates, whose weights are thrown away
_GAIN = 1.1  # by how much the coarser numbers must be faster to be worth it, and beyond what a short trial errs
_CPU_INFO = Path("/proc/cpuinfo")
_IN_HARDWARE = {"amx_bf16", "avx512_bf16", "bf16"}  # x86's two, and Arm's


@dataclass(frozen=True)
class Trial:
    """What updates of `tokens` target tokens took in each precision, in seconds."""

    tokens: float
    float32: float
    bfloat16: float


def has_bfloat16(cpu_info: Path = _CPU_INFO) -> bool:
    """Return True where this CPU multiplies bfloat16 itself: AMX or AVX-512 on x86, BF16 on Arm; else False.

    PyTorch emulates bfloat16 on any other, more slowly than it computes in float32.
    """
    try:
        text = cpu_info.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    features = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    return bool(features and _IN_HARDWARE & set(features[1].split()))


def faster(float32: float, bfloat16: float) -> Precision:
    """Return the precision to train in by what the same updates took in each, in seconds."""
    return Precision.BFLOAT16 if bfloat16 * _GAIN <= float32 else Precision.FLOAT32


def choose_precision(
    model: Transformer, settings: TrainingConfig, updates: Iterable[tuple[Update, list[Tensors]]], processes: Processes
) -> Precision:
    """Choose a run's precision on a CPU: bfloat16 where all processes have it in hardware and it is faster.

    updates: the run's first ones, each as examples and as this process's tensors. Weights, gradients and random numbers
    stay as they are. One line in the log has both speeds.
    """
    if processes.sums(has_bfloat16()) != [processes.count]:
        return Precision.FLOAT32
    try:
        trial = try_precisions(model, settings, updates)
    except NotFiniteError:
        trial = Trial(0.0, 0.0, 1.0)  # the run itself comes to that batch, and says where it is
    float32, bfloat16 = processes.sums(trial.float32, trial.bfloat16)
    chosen = faster(float32, bfloat16)
    if float32:
        speeds = trial.tokens * processes.count / float32, trial.tokens * processes.count / bfloat16
        logger.info("tried: float32 %.0f, bfloat16 %.0f target tokens/s; training in %s", *speeds, chosen)
    return chosen


def try_precisions(
    model: Transformer, settings: TrainingConfig, updates: Iterable[tuple[Update, list[Tensors]]]
) -> Trial:
    """Time each update but the first in both precisions, on a copy of the model; raises NotFiniteError as they do."""
    copied = copy.deepcopy(model)
    updaters = {
        precision: Updater(copied, dataclasses.replace(settings, precision=precision), Processes())
        for precision in (Precision.FLOAT32, Precision.BFLOAT16)
    }
    seconds, tokens = dict.fromkeys(updaters, 0.0), 0
    with torch.random.fork_rng(devices=[]):  # dropout draws from it
        for number, (update, tensors) in enumerate(updates):
            for precision, updater in updaters.items():
                started = time.perf_counter()
                updater.learn(tensors, update.tokens, _RATE)
                if number:
                    seconds[precision] += time.perf_counter() - started
            tokens += update.tokens if number else 0
    return Trial(tokens, seconds[Precision.FLOAT32], seconds[Precision.BFLOAT16])
