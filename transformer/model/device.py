"""Choice of the device and number type, and settings of its memory."""

import ctypes
import os
import sys

import torch

from ..errors import DeviceError

ENVIRONMENT_VARIABLE = "HEADLIGHT_DEVICE"
PRIMITIVE_CACHE = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"
PYTORCHS_CACHE = "LRU_CACHE_CAPACITY"

_MOST_PRIMITIVES = 64

# Parameter numbers of glibc's mallopt(3).
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3


def choose_device(name: str | None = None) -> torch.device:
    """Return the device asked for by `name`, else by HEADLIGHT_DEVICE, else CUDA, else MPS, else the CPU.

    Raises DeviceError for a name that PyTorch does not know or a device that this machine has not.
    """
    name = name or os.environ.get(ENVIRONMENT_VARIABLE) or _best_name()
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise DeviceError(f"There is no device called {name!r}; choose cpu, cuda or mps.") from error
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not available.get(device.type, False):
        raise DeviceError(f"The device {name!r} is not available on this machine.")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise DeviceError(f"The device {name!r} is not available: this machine has {torch.cuda.device_count()}.")
    return device


DTYPES = {
    str(each).removeprefix("torch."): each for each in (torch.float32, torch.float64, torch.bfloat16, torch.float16)
}


def read_dtype(dtype: str | torch.dtype | None = None) -> torch.dtype:
    """Return the type that a model computes in, by its name or as it is; None is float32. Raises ValueError."""
    name = str(dtype or torch.float32).removeprefix("torch.")
    if name not in DTYPES:
        raise ValueError(f"dtype must be one of {', '.join(DTYPES)}, got {name}")
    return DTYPES[name]


def describe_device(device: torch.device) -> str:
    """Return the device in words, with the card's name or the number of threads."""
    if device.type == "cuda":
        return f"GPU ({torch.cuda.get_device_name(device)})"
    if device.type == "mps":
        return "Apple GPU (MPS)"
    threads = torch.get_num_threads()
    return f"CPU ({threads} {'thread' if threads == 1 else 'threads'})"


def usable_cores() -> int:
    """Cores that this process may use: in a container often fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def keep_freed_memory() -> None:
    """Ask glibc to reuse the memory that tensors free instead of returning it to the system.

    A training step frees and asks again for hundreds of megabytes, a decoding step of a batch for a few; fetching
    those pages anew each time took more than a quarter of a training step on a CPU. Does nothing where the C library
    is another one.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:
        return
    mallopt(_M_MMAP_THRESHOLD, 1 << 30)
    mallopt(_M_TRIM_THRESHOLD, (1 << 31) - 1)
    mallopt(_M_TOP_PAD, 1 << 26)


def bound_primitive_cache() -> None:
    """Let oneDNN keep at most 64 primitives, its compiled operations, unless the environment says how many.

    It makes one for each operation and each new shape of its matrices, and keeps 1,024; what PyTorch puts between keeps
    as many itself, and thus them. A training whose batches come in many shapes hardly ever meets one again, and in
    bfloat16 on a CPU they held gigabytes. Both read their variable when they are first used: this is to be called
    before anything is computed.
    """
    for variable in (PRIMITIVE_CACHE, PYTORCHS_CACHE):
        os.environ.setdefault(variable, str(_MOST_PRIMITIVES))


def _best_name() -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"
