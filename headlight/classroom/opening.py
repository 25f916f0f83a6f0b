"""The server's store of classes: its file, opened with the first class."""

import functools
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from .store import StoreError

if TYPE_CHECKING:
    from .sqlite_store import SqliteStore

FILE_VARIABLE = "HEADLIGHT_CLASSES"  # environment variable: path of the file of the classes
PORT_VARIABLE = "HEADLIGHT_CLASS_PORT"  # environment variable: port for phones where the app has none; 0 lets none in


@functools.cache
def open_store() -> "SqliteStore":
    """Return this server's store of classes. Raises StoreError if its file cannot be used."""
    from .sqlite_store import SqliteStore

    return SqliteStore(_file())


def check_store() -> None:
    """End the process with a sentence if the environment names a file that cannot be used."""
    if path := os.environ.get(FILE_VARIABLE):
        try:
            open_store()
        except StoreError as error:
            raise SystemExit(f"{FILE_VARIABLE}={path}: {error}") from error


def has_store() -> bool:
    """Return whether the file of the classes exists: a server makes it with its first class."""
    return _file().exists()


def _file() -> Path:
    """Return the path of the classes' file: `FILE_VARIABLE`, or in a folder of this user in the temporary folder."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    default = Path(tempfile.gettempdir()) / f"headlight-classes-{user}" / "classes.sqlite3"
    return Path(os.environ.get(FILE_VARIABLE) or default)
