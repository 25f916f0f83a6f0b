"""The process that `ahead` starts: requests in, what is asked for out, until nobody asks any more.

Run by its path, with the number of an open connection: of the app it reads nothing but the model.
"""

import contextlib
import functools
import logging
import sys
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

from transformer import Trace, Translator, UserError
from transformer.checkpoint import HISTORY_FILE, TOKENIZER_FILES, WEIGHTS_FILE
from transformer.data.batching import SAMPLES
from transformer.data.tokenizer import source_ids
from transformer.decoding.output_statistics import OUTPUTS_FILE
from transformer.decoding.sampling import Hypothesis
from transformer.errors import CheckpointError
from transformer.interpret.head_roles import ROLES_FILE
from transformer.interpret.what_if.decoder_lens import MORE_TOKENS, decoder_lenses
from transformer.interpret.what_if.minimal_pairs import PAIRS_FILE
from transformer.training.replay import REPLAY_FILE

IDLE = 300.0  # seconds without a request after which the process ends and gives its memory back
FILES = (  # of a checkpoint
    "config.json",
    WEIGHTS_FILE,
    *TOKENIZER_FILES,
    "training.json",
    HISTORY_FILE,
    SAMPLES,
    REPLAY_FILE,
    ROLES_FILE,
    OUTPUTS_FILE,
    PAIRS_FILE,
)
TRACE, EARLY_LAYERS = "trace", "early layers"  # what can be asked for
SHORT = 200  # characters of a text whose early layers are decoded together with others, all padded to the longest
# What; a checkpoint's folder, and when its files were written; a text, its target's language and its own or "".
DecodingRequest = tuple[str, str, tuple[int, ...], str, str, str]
# The trace of a greedy translation, or the greedy translation from each encoder layer: [layers + 1].
Answer = Trace | list[Hypothesis]

logger = logging.getLogger(__name__)


def last_written(folder: Path) -> tuple[int, ...]:
    """When each file of a checkpoint was last written, in nanoseconds: 0 where it is missing."""
    return tuple(_last_written(folder / name) for name in FILES)


def decoded(own: Translator, texts: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """The ids of the greedy translation of each text that can be read, decoded together."""
    readable = [text for text in texts if own.can_read(text)]
    return dict(zip(readable, own.best_ids(readable), strict=True)) if readable else {}


def decoded_early(own: Translator, texts: Sequence[str]) -> dict[str, list[Hypothesis]]:
    """The same from each encoder layer: [layers + 1] translations, the last of them the text's own."""
    readable = [text for text in texts if own.can_read(text)]
    sources = [source_ids(own.tokenizer, text) for text in readable]
    found = decoder_lenses(own.model, sources, more=MORE_TOKENS) if readable else []
    return dict(zip(readable, found, strict=True))


def answers(requests: Sequence[DecodingRequest]) -> Iterator[Answer | None]:
    """The answer to each request to one checkpoint, in order: decoded together, each trace recorded in its own pass.

    None where there is none: who asked for it meets the reason when he tries himself.
    """
    texts: dict[DecodingRequest, str] = {}
    early: dict[str, list[Hypothesis]] = {}
    ids: dict[str, tuple[int, ...]] = {}
    with _failures_told():
        own = _translator(*requests[0][1:3])
        for request in requests:
            with _failures_told():
                texts[request] = own.addressed(*request[3:])
        if not own.model.config.num_forced:
            short = [text for request, text in texts.items() if request[0] == EARLY_LAYERS and len(text) <= SHORT]
            early = decoded_early(own, short)
        ids = {text: layers[-1].ids for text, layers in early.items()}
        ids |= decoded(own, [text for request, text in texts.items() if request[0] == TRACE and text not in ids])
    for request in requests:
        answer: Answer | None = None
        with _failures_told():
            text = texts.get(request, "")
            if request[0] == EARLY_LAYERS:
                answer = early.get(text)
            elif text in ids:
                answer, _ = own.record(text, decoded=ids[text])
        yield answer


@functools.lru_cache(maxsize=4)
def _translator(folder: str, written: tuple[int, ...]) -> Translator:
    """The translator of a checkpoint whose files were last written then; raises CheckpointError for any other."""
    found = Translator.load(folder)
    if last_written(Path(folder)) != written:
        raise CheckpointError(f"{folder} has been written anew.")
    return found


def _last_written(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


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
    """Say that the model can be asked, then answer every list of requests with an answer to each."""
    with contextlib.suppress(EOFError, OSError):  # the server has ended
        connection.send(None)
        while connection.poll(IDLE):
            for answer in answers(connection.recv()):
                connection.send(answer)


if __name__ == "__main__":
    with Connection(int(sys.argv[1])) as opened:
        main(opened)
