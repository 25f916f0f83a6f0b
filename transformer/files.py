"""Files that are written whole or not at all, and tensors in them."""

import contextlib
import errno
import json
import os
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import safetensors
import torch
from safetensors.torch import load_file, save

from .errors import CheckpointError
from .untrusted import MEGABYTE, MOST_DESCRIPTION, open_regular, parse_json, read_regular, size_text

_MOST_WHOLE = 127  # of a weight in 8 bits, either side of 0
_SCALES = ".scales"  # after the name of a matrix in 8 bits: those of its rows
_MOST_TENSORS = 64 << 30  # bytes of a file of tensors
_MOST_HEADER = 16 * MEGABYTE  # bytes of its list of them


def shipped_checkpoints() -> Path:
    """Return the folder of the shipped checkpoints: in the installed package, or beside it in the repository."""
    installed = Path(__file__).parent / "checkpoints"
    return installed if installed.is_dir() else Path(__file__).parents[1] / "checkpoints"


def is_installed(path: Path) -> bool:
    """Tell whether a file is, or would be, in the installed package; what stands beside it in the repository is not."""
    return path.resolve().is_relative_to(Path(__file__).resolve().parent)


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file whole, wait until the disk has it; raises OSError, naming the file, and leaves no part behind."""
    path, temporary = Path(path), None
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
        sync_folder(path.parent)
    except BaseException as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno:
            error.filename = str(path)
        raise


@contextlib.contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """Return a folder to fill in the block, which stands at `out` after it, whole; if the block fails, nothing is left.

    Raises CheckpointError where `out` is there already.
    """
    if out.exists():
        raise CheckpointError(f"{out} is there already; give another name.")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}") as temporary:
        made = Path(temporary) / out.name
        made.mkdir()
        yield made
        made.rename(out)


def sync_folder(folder: Path) -> None:
    """Wait until the disk has what was renamed in a folder, where the system knows how to (Windows does not)."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EBADF):  # a file system that cannot do it for a folder
            raise
    finally:
        os.close(handle)


@contextlib.contextmanager
def reading(path: Path, complaint: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn OSError and these errors into a CheckpointError: the file is missing, or the complaint with its reason."""
    try:
        yield
    except FileNotFoundError as error:
        raise CheckpointError(f"{path} is missing.") from error
    except (OSError, *errors) as error:  # type: ignore[misc]
        reason = str(getattr(error, "strerror", None) or error).removesuffix(".")
        raise CheckpointError(f"{path} {complaint}: {reason}.") from error


def read_object(path: Path, most: int = MOST_DESCRIPTION) -> dict:
    """Return a file that holds a JSON object; raises CheckpointError when it is missing, larger, or something else."""
    with reading(path, "is not readable as JSON"):
        content = read_regular(path, most)
    return parse_object(content, path)


def parse_object(content: bytes, name: object) -> dict:
    """Return a JSON object; raises CheckpointError, with the name of its file, for anything else."""
    try:
        parsed = parse_json(content)
    except ValueError as error:
        raise CheckpointError(f"{name} is not readable as JSON: {error}.") from error
    if not isinstance(parsed, dict):
        raise CheckpointError(f"{name} does not hold a JSON object.")
    return parsed


def object_bytes(content: dict) -> bytes:
    """Return a JSON object as people read it, one name a line."""
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()


def stored_name(name: str) -> str:
    """Return a parameter's name in files: the output projection's is its first, so every version reads every file."""
    return name.replace("output_projection.", "generator.")


def save_tensors(path: Path, tensors: dict[str, torch.Tensor]) -> None:
    """Write tensors as safetensors in one piece; raises OSError when they cannot be written."""
    write_atomically(path, save({stored_name(name): tensor.contiguous() for name, tensor in tensors.items()}))


def load_tensors(path: Path) -> dict[str, torch.Tensor]:
    """Read what `save_tensors` wrote; raises CheckpointError when it is missing or damaged."""
    return {name.replace("generator.", "output_projection."): tensor for name, tensor in read_tensors(path).items()}


def read_tensors(path: Path) -> dict[str, torch.Tensor]:
    """Return a safetensors file under its own names; raises CheckpointError when it is missing or damaged.

    It may have 64 GB, and 16 MB of them may be names and shapes.
    """
    with reading(path, "is damaged or no safetensors file", safetensors.SafetensorError, ValueError):
        check_tensors(path, _MOST_TENSORS)
        return load_file(path)


def quantize(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Round a float32 matrix row by row to 8 bits, each row's largest magnitude to 127.

    -> whole numbers, int8 [rows, columns], and scales, float32 [rows].
    """
    scales = (np.abs(matrix).max(axis=1) / _MOST_WHOLE).astype(np.float32)
    divisors = np.where(scales > 0, scales, 1)
    return np.rint(matrix / divisors[:, None]).astype(np.int8), scales


def rounded_to_bytes(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the tensors of a file of 8 bits: matrices as int8 with their scales, all others as float32."""
    tensors = {}
    for name, weight in weights.items():
        tensors[name] = weight = weight.float()
        if weight.dim() == 2:
            whole, scales = map(torch.from_numpy, quantize(weight.numpy()))
            tensors |= {name: whole, name + _SCALES: scales}
    return tensors


def load_weights(path: Path) -> dict[str, torch.Tensor]:
    """Read a checkpoint's weights, those in 8 bits as float32.

    Raises CheckpointError where the file is missing or damaged, or scales do not fit their matrices.
    """
    tensors = load_tensors(path)
    scales = {name: tensors.pop(name) for name in list(tensors) if name.endswith(_SCALES)}
    for name, whole in tensors.items():
        if whole.dtype == torch.int8:
            tensors[name] = whole.float() * _checked(scales.pop(name + _SCALES, None), whole, name, path)
    if scales:
        raise CheckpointError(f"{path} is damaged: {min(scales)} belongs to no matrix of 8 bits.")
    return tensors


def _checked(scale: torch.Tensor | None, whole: torch.Tensor, name: str, path: Path) -> torch.Tensor:
    """Return the scales of a matrix as a column; raises CheckpointError where they are none."""
    fits = scale is not None and scale.dtype == torch.float32 and whole.dim() == 2 and scale.shape == whole.shape[:1]
    if scale is None or not fits or not (scale.isfinite() & (scale >= 0)).all():
        raise CheckpointError(f"{path} is damaged: {name} is a matrix of 8 bits without one valid scale per row.")
    return scale[:, None]


def check_tensors(path: Path, most: int) -> None:
    """Raise OSError for a safetensors file that is none of a regular kind, ValueError where it is larger than `most`,
    or its header larger than 16 MB.
    """
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size > most:
            raise ValueError(f"it is larger than {size_text(most)}")
        if int.from_bytes(file.read(8), "little") > _MOST_HEADER:
            raise ValueError(f"its header is larger than {size_text(_MOST_HEADER)}")


def save_checksummed(path: Path, tensors: dict[str, torch.Tensor]) -> None:
    """Write tensors with a checksum, in one piece; raises OSError when they cannot be written."""
    save_tensors(path, {**tensors, "checksum": _checksum(tensors)})


def load_checksummed(path: Path) -> dict[str, torch.Tensor]:
    """Read what was written with a checksum; raises CheckpointError when it is missing or a single bit has changed."""
    tensors = load_tensors(path)
    checksum = tensors.pop("checksum", None)
    if checksum is None:
        raise CheckpointError(f"{path} has no checksum: it is damaged, or of an older version of this program.")
    if not torch.equal(checksum, _checksum(tensors)):
        raise CheckpointError(f"{path} is damaged: its checksum is not that of its content.")
    return tensors


def _checksum(tensors: dict[str, torch.Tensor]) -> torch.Tensor:
    """CRC-32 of all names as stored, types, shapes and values: [], int64."""
    value = 0
    for name, tensor in sorted((stored_name(name), tensor) for name, tensor in tensors.items()):
        value = zlib.crc32(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode(), value)
        value = zlib.crc32(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy(), value)  # type: ignore[arg-type]
    return torch.tensor(value)
