"""A class that predicts together: its teacher's acts, its store, and what phones ask the server for.

The server imports `routes` when it starts, so nothing here reads PyTorch, pandas or a store before a class needs it.
"""

import functools
import os
import tempfile
from pathlib import Path

from .store import (
    ClassError,
    Classroom,
    Kind,
    NoClassError,
    NoRoomError,
    NotTheTeacherError,
    Phase,
    Question,
    Round,
    Store,
    StoreError,
    Truth,
)
from .teaching import Tally, Teacher, View, open_class, read_code

__all__ = [
    "ClassError",
    "Classroom",
    "Kind",
    "NoClassError",
    "NoRoomError",
    "NotTheTeacherError",
    "Phase",
    "Question",
    "Round",
    "Store",
    "StoreError",
    "Tally",
    "Teacher",
    "Truth",
    "View",
    "open_class",
    "open_store",
    "read_code",
]

FILE_VARIABLE = "HEADLIGHT_CLASSES"  # in the environment: the file of the classes
STORE_VARIABLE = "HEADLIGHT_CLASS_STORE"  # in the environment: redis://... for classes in Redis


@functools.cache
def open_store() -> Store:
    """Return this server's store: Redis or a file, as the environment says, else a file in the temporary folder.

    Raises StoreError, also where Redis's client is not installed.
    """
    url = os.environ.get(STORE_VARIABLE, "")
    if url:
        try:
            from .redis_store import RedisStore
        except ImportError as error:
            raise StoreError('Classes in Redis need its client: pip install "headlight-transformer[class]"') from error
        return RedisStore(url)
    from .sqlite_store import SqliteStore

    return SqliteStore(_file())


def has_store() -> bool:
    """Return whether there may be classes: no server makes a file before it has one."""
    return bool(os.environ.get(STORE_VARIABLE)) or _file().exists()


def _file() -> Path:
    """Return the file of the classes: the environment's, or one in a folder of this user's own in the temporary one."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    default = Path(tempfile.gettempdir()) / f"headlight-classes-{user}" / "classes.sqlite3"
    return Path(os.environ.get(FILE_VARIABLE) or default)
