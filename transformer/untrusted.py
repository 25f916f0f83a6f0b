"""Files of unknown origin: regular ones alone, no larger than is stated, and JSON and TOML that overflow nothing."""

import errno
import json
import os
import re
import stat
import tomllib
from io import BufferedReader
from pathlib import Path
from typing import Any

MEGABYTE = 1 << 20
MOST_SETTINGS = MEGABYTE // 4  # bytes of a TOML file
MOST_DESCRIPTION = 8 * MEGABYTE  # bytes of a JSON file that describes a model, its training, or what was measured
MOST_VOCABULARY = 64 * MEGABYTE  # bytes of a tokenizer's file: NLLB's tokenizer.json has 32 MB

_MOST_UNPACKED, _ALWAYS_UNPACKED = 100, 64 * MEGABYTE  # times its own size, and what any file may
_DEEPEST = 64  # containers within one another
_MOST_CONTAINERS = 2_000_000  # a vocabulary's merges are a pair each
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
# For a name of so many parts `tomllib` takes time by the square of them.
_LONG_NAME = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*"|'[^'\n]*')[ \t]*+\.[ \t]*+){64}""")


def open_at_once(path: Path) -> BufferedReader:
    """Open whatever can be read; a pipe to which nobody writes is empty, and not waited for. Raises OSError."""

    def opener(path: str, flags: int) -> int:
        return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))

    file = open(path, "rb", opener=opener)  # noqa: SIM115 (the caller's to close)
    if hasattr(os, "O_NONBLOCK"):
        os.set_blocking(file.fileno(), True)
    return file


def open_regular(path: Path) -> BufferedReader:
    """Open a file to read; raises OSError for a folder, a device or a pipe."""
    file = open_at_once(path)
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    return file


def read_regular(path: Path, most: int) -> bytes:
    """Return what is in a regular file; raises OSError for any other, and for one of more than `most` bytes."""
    with open_regular(path) as file:
        content = file.read(min(os.fstat(file.fileno()).st_size, most) + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it is larger than {size_text(most)}", str(path))
    return content


def most_unpacked(size: int) -> int:
    """Return to how many bytes a packed file of this size may unpack: 64 MB, or 100 times its size where that is more.

    Text packs to a third or a tenth, weights hardly at all, and what fills memory to a thousandth.
    """
    return max(_ALWAYS_UNPACKED, _MOST_UNPACKED * size)


def size_text(size: int) -> str:
    """Return a number of bytes as people say it: "64 MB", "256 kB"."""
    return f"{size // MEGABYTE:,} MB" if size >= MEGABYTE else f"{size // 1024} kB"


def parse_json(content: bytes) -> Any:
    """Return what JSON says; raises ValueError for what is none, or has halves of characters, or is nested too deep.

    Containers may lie 64 deep in one another, and there may be two million of them.
    """
    text = content.decode("utf-8")
    if text.count("[") + text.count("{") > _MOST_CONTAINERS:
        raise ValueError(f"it has more than {_MOST_CONTAINERS:,} lists and objects")
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if _SURROGATE.search(text) and not _is_encodable(json.dumps(value, ensure_ascii=False)):
        raise ValueError("it has a half of a character (a lone surrogate)")
    return _not_too_deep(value)


def read_toml(path: Path) -> dict[str, Any]:
    """Return what a TOML file of up to 256 kB says; raises OSError, and ValueError for what is none or nested too deep.

    Tables may lie 64 deep in one another.
    """
    text = read_regular(path, MOST_SETTINGS).decode("utf-8")
    if _LONG_NAME.search(text):
        raise ValueError("it has a name of too many parts")
    try:
        return _not_too_deep(tomllib.loads(text))
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _is_encodable(text: str) -> bool:
    try:
        return bool(text.encode())
    except UnicodeEncodeError:
        return False


def _not_too_deep(value: Any) -> Any:
    """Return the value; raises ValueError where its containers lie too deep in one another."""
    level = [value]
    for _ in range(_DEEPEST + 1):
        containers = [each for each in level if isinstance(each, dict | list)]
        if not containers:
            return value
        level = [child for each in containers for child in (each.values() if isinstance(each, dict) else each)]
    raise ValueError("it is nested too deep")
