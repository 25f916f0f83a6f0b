"""What several visitors wait for, computed in one batch: eight decodings take hardly longer than two.

Greedy translations are made so, before their owners' turns come. What a page shows of them is then recorded in a pass
of its own, so that no weight or probability depends on whose sentences happened to be in the batch.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Generic, TypeVar

Request = TypeVar("Request", bound=Hashable)
Result = TypeVar("Result")

MOST = 16  # requests in a batch
KEPT = 1024  # results; one is a few token ids


class Together(Generic[Request, Result]):
    """The results of requests, computed several at a time and kept for when they are asked for.

    `compute`: requests to results, in their order; None for one that has no result.
    """

    def __init__(self, compute: Callable[[Sequence[Request]], Sequence[Result | None]]):
        self._compute = compute
        self._results: OrderedDict[Request, Result | None] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, request: Request, result: Result) -> None:
        """Keep a result that was computed on the way to something else, unless there is one."""
        with self._lock:
            self._results.setdefault(request, result)
            self._forget_oldest()

    def is_alone(self, request: Request, others: Iterable[Request]) -> bool:
        """Whether the request would be a batch of its own: it has no result yet, and the others have theirs."""
        with self._lock:
            return request not in self._results and not self._new(request, others)

    def result(self, request: Request, others: Iterable[Request] = ()) -> Result | None:
        """The result of a request; those of others, as many as fit in a batch, are computed with it."""
        with self._lock:
            if request in self._results:
                return self._results[request]
            new = self._new(request, others)
        batch = [request, *new[: MOST - 1]]
        results = dict(zip(batch, self._compute(batch), strict=True))
        with self._lock:
            self._results.update(results)
            self._forget_oldest()
        return results[request]

    def _forget_oldest(self) -> None:
        while len(self._results) > KEPT:
            self._results.popitem(last=False)

    def _new(self, request: Request, others: Iterable[Request]) -> list[Request]:
        """The others that have no result yet, each once; for whoever holds the lock."""
        return [other for other in dict.fromkeys(others) if other != request and other not in self._results]
