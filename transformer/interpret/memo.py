"""Memo: results that several threads share, within a number of bytes."""

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import is_dataclass
from typing import Any

import numpy as np
from torch import Tensor

MEMO_BYTES = 2**28  # of one translator's results


class Memo:
    """Results by key; the least recently read are dropped while all together take more than `limit` bytes.

    The newest result stays whatever its size.
    """

    def __init__(self, limit: int = MEMO_BYTES) -> None:
        self.limit, self.size = limit, 0
        self._lock = threading.Lock()
        self._results: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()

    def get(self, key: Hashable, default: Any) -> Any:
        """Return the result of a key, which counts as read, or the default."""
        with self._lock:
            if key not in self._results:
                return default
            self._results.move_to_end(key)
            return self._results[key][0]

    def put(self, key: Hashable, result: Any) -> None:
        """Keep a result."""
        size = bytes_of(result)
        with self._lock:
            self.size += size - self._results.pop(key, (None, 0))[1]
            self._results[key] = result, size
            while self.size > self.limit and len(self._results) > 1:
                self.size -= self._results.popitem(last=False)[1][1]


def bytes_of(result: Any) -> int:
    """Return the bytes of all arrays and tensors of a result, each buffer counted once."""
    return sum(dict(_buffers(result)).values())


def _buffers(value: Any) -> Iterator[tuple[int, int]]:
    """Yield address and bytes of the buffer of each array and tensor; of any other object those of the object alone."""
    if isinstance(value, Tensor):
        storage = value.untyped_storage()
        yield storage.data_ptr(), storage.nbytes()
    elif isinstance(value, np.ndarray):
        while isinstance(value.base, np.ndarray):
            value = value.base
        yield value.ctypes.data, value.nbytes
    elif isinstance(value, Mapping | tuple | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _buffers(each)
    elif is_dataclass(value):
        yield from _buffers(vars(value))
    else:
        yield id(value), 64
