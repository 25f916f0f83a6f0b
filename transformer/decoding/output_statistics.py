"""How sure the model is of its own translations over a corpus, to hold a single sentence's against.

Two figures a sentence: the mean log-probability of its output tokens, and how many of its source words are split into
many tokens, that is, are hardly known to the tokenizer.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..data.frames import cell_columns, frame_of
from ..data.resumable import CorpusRun, add_up, fingerprint_of
from ..data.tokenizer import SPACE, TextTokenizer, source_ids
from ..files import reading_json, save_json
from ..model.transformer import Transformer
from .sampling import Greedy, decode

if TYPE_CHECKING:
    import pandas

OUTPUTS_FILE = "outputs.json"
MANY_TOKENS = 3
_VERSION = 1
_SENTENCES_A_BATCH = 50


@dataclass(frozen=True)
class OutputStatistics:
    """One entry a sentence of `pairs`, each tuple in rising order.

    mean_log_probabilities: of the greedy translation's tokens, end of sentence included and forced ones left out, in
    nats (`Trace.mean_log_probability`); split_shares: source words in MANY_TOKENS tokens or more, from 0 to 1.
    """

    pairs: str
    mean_log_probabilities: tuple[float, ...]
    split_shares: tuple[float, ...]

    @property
    def sentences(self) -> int:
        """How many sentences were measured."""
        return len(self.mean_log_probabilities)

    def to_frame(self) -> "pandas.DataFrame":
        """List the values of either measure, in rising order: measure, rank (from 0), value. No row is a sentence: the
        ranks of both are not of the same one.
        """
        measures = {
            "mean_log_probability": np.array(self.mean_log_probabilities),
            "split_share": np.array(self.split_shares),
        }
        return frame_of("measure", {name: cell_columns(["rank"], value=values) for name, values in measures.items()})

    def less_sure(self, mean_log_probability: float) -> float:
        """Return the share of the sentences whose mean log-probability is lower."""
        return bisect_left(self.mean_log_probabilities, mean_log_probability) / self.sentences

    def less_split(self, share: float) -> float:
        """Return the share of the sentences of which a smaller share of words is split."""
        return bisect_left(self.split_shares, share) / self.sentences

    def typical_split(self) -> float:
        """Return the mean share of words that are split."""
        return sum(self.split_shares) / self.sentences


def split_words(tokens: Sequence[str]) -> tuple[int, int]:
    """Words in MANY_TOKENS tokens or more, and all words, of a sentence's tokens without its specials."""
    sizes: list[int] = []
    for token in tokens:
        if token.startswith(SPACE) or not sizes:
            sizes.append(0)
        sizes[-1] += token != SPACE and any(character.isalnum() for character in token)
    return sum(size >= MANY_TOKENS for size in sizes), sum(size > 0 for size in sizes)


def measure_outputs(
    model: Transformer,
    tokenizer: TextTokenizer,
    texts: Sequence[str],
    pairs: str,
    run: CorpusRun | None = None,
) -> OutputStatistics:
    """Translate the texts greedily; those that the model cannot take are left out.

    Raises ValueError without any that it can, and what `add_up` does.
    """
    encoded = zip(texts, tokenizer.encode_all(texts), strict=True)
    whole = [(ids, source_ids(tokenizer, text), tokenizer.given(text)) for text, ids in encoded if ids]
    sources = sorted((each for each in whole if len(each[1]) <= model.config.max_length), key=lambda each: len(each[1]))
    if not sources:
        raise ValueError("at least one text expected that the model can take")

    def statistics(batch: range) -> np.ndarray:
        """Fill the rows of these sentences: mean log-probability, share of split words."""
        rows = np.zeros((len(sources), 2))
        ids, framed, given = zip(*sources[batch.start : batch.stop], strict=True)
        for row, pieces, hypothesis in zip(batch, ids, decode(model, framed, Greedy(), given), strict=True):
            split, words = split_words([tokenizer.source_piece_text(token_id) for token_id in pieces])
            mean = hypothesis.log_probability / (len(hypothesis.ids) - model.config.num_forced)
            rows[row] = mean, split / max(1, words)
        return rows

    count = len(sources)
    batches = [range(start, min(start + _SENTENCES_A_BATCH, count)) for start in range(0, count, _SENTENCES_A_BATCH)]
    fingerprint = partial(fingerprint_of, model, OUTPUTS_FILE, sources)
    means, shares = add_up(statistics, batches, np.zeros((count, 2)), fingerprint, run).T.tolist()
    return OutputStatistics(pairs, tuple(sorted(means)), tuple(sorted(shares)))


def save_outputs(path: Path, measured: OutputStatistics) -> None:
    """Write the measurement as JSON, numbers to four decimals; raises OSError."""
    numbers = {
        "mean_log_probabilities": [round(value, 4) for value in measured.mean_log_probabilities],
        "split_shares": [round(value, 4) for value in measured.split_shares],
    }
    save_json(path, _VERSION, {"pairs": measured.pairs, **numbers})


def load_outputs(path: Path) -> OutputStatistics:
    """Read what `save_outputs` wrote; raises CheckpointError for anything else."""
    with reading_json(path, _VERSION) as content:
        means, shares = (tuple(map(float, content[name])) for name in ("mean_log_probabilities", "split_shares"))
        if not means or len(means) != len(shares) or not all(value <= 0 for value in means):
            raise ValueError("its numbers cannot be")
        if not all(0 <= value <= 1 for value in shares):
            raise ValueError("its shares cannot be")
        return OutputStatistics(str(content["pairs"]), tuple(sorted(means)), tuple(sorted(shares)))
