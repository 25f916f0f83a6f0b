"""The process that `ahead` starts: requests in, traces out, until nobody asks any more.

Run by its path, with the number of an open connection: of the app it reads nothing but the model.
"""

import contextlib
import functools
import logging
import sys
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection

from transformer import Trace, Translator, UserError

IDLE = 300.0  # seconds without a request after which the process ends and gives its memory back
# A checkpoint's folder, when its files were written, a text, its target's language and its own, "" where it has one.
Request = tuple[str, tuple[int, ...], str, str, str]

logger = logging.getLogger(__name__)


def traces(requests: Sequence[Request]) -> Iterator[Trace | None]:
    """The trace of each request's greedy translation, in order: decoded together, then each in a pass of its own.

    None where there is none: who asked for it meets the reason when he tries himself.
    """
    decoded: dict[Request, tuple[int, ...]] = {}
    for checkpoint in dict.fromkeys(request[:2] for request in requests):
        with _failures_told():
            decoded |= _decoded([request for request in requests if request[:2] == checkpoint])
    for request in requests:
        trace = None
        with _failures_told():
            if request in decoded:
                own = _translator(*request[:2])
                trace, _ = own.recorded(own.addressed(*request[2:]), decoded=decoded[request])
        yield trace


def _decoded(requests: Sequence[Request]) -> dict[Request, tuple[int, ...]]:
    """The ids of what one checkpoint translates, without those requests that it cannot translate."""
    own = _translator(*requests[0][:2])
    texts = {request: own.addressed(*request[2:]) for request in requests}
    readable = {request: text for request, text in texts.items() if own.can_read(text)}
    return dict(zip(readable, own.best_ids(list(readable.values())), strict=True)) if readable else {}


@functools.lru_cache(maxsize=4)
def _translator(folder: str, written: tuple[int, ...]) -> Translator:
    """The translator of a checkpoint whose files were last written then."""
    return Translator.load(folder)


@contextlib.contextmanager
def _failures_told() -> Iterator[None]:
    """Let the process go on after whatever fails within the block."""
    try:
        yield
    except UserError:
        pass
    except Exception:
        logger.warning("a translation failed", exc_info=True)


def main(connection: Connection) -> None:
    """Say that the model can be asked, then answer every list of requests with a trace for each."""
    with contextlib.suppress(EOFError, OSError):  # the server has ended
        connection.send(None)
        while connection.poll(IDLE):
            for trace in traces(connection.recv()):
                connection.send(trace)


if __name__ == "__main__":
    with Connection(int(sys.argv[1])) as opened:
        main(opened)
