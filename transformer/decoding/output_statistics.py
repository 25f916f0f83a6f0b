"""Confidence of the model in its own translations over a corpus.

Two numbers per sentence: the mean log-probability of its output tokens, and the share of its source words that are
split into many tokens, which the tokenizer hardly knows.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.batching import Example
from ..data.chunks import Batch
from ..data.frames import frame_of
from ..data.measurement import Provenance, Sums, SumsMeasurement, add_up, number, pooled, whole_number
from ..data.tokenizer import SPACE, TextTokenizer, source_ids
from ..files import reading_json, save_json
from ..model.transformer import Transformer
from .sampling import Greedy, decode

if TYPE_CHECKING:
    import pandas

MANY_TOKENS = 3
_VERSION = 1
_MOST_SENTENCES = 10_000_000
_LEAST = -1e6  # nats a token: no logarithm of a probability is so far from 0
_DIGITS = 4  # of both figures: so there are few different ones, however many sentences


@dataclass(frozen=True)
class OutputStatistics:
    """One entry a sentence of `pairs`, each tuple in rising order.

    mean_log_probabilities: of the greedy translation's tokens, end of sentence included and forced ones left out, in
    nats (`Trace.mean_log_probability`); split_shares: source words in MANY_TOKENS tokens or more, from 0 to 1.
    """

    pairs: str
    mean_log_probabilities: tuple[float, ...]
    split_shares: tuple[float, ...]
    provenance: Provenance | None = None  # None of what was not measured from files, or by an older version

    @property
    def sentences(self) -> int:
        """How many sentences were measured."""
        return len(self.mean_log_probabilities)

    def to_frame(self) -> "pandas.DataFrame":
        """List the values of either measure, each once, in rising order: measure, value, sentences that have it. No row
        is a sentence: those of both measures are not of the same ones.
        """
        columns = {}
        for name, values in self._measures().items():
            different, counts = np.unique(values, return_counts=True)
            columns[name] = {"value": different, "sentences": counts}
        return frame_of("measure", columns)

    def means(self) -> dict[str, tuple[float, float]]:
        """Return the mean of either measure over the sentences, and its standard error."""
        return {
            name: (float(np.mean(values)), float(np.std(values)) / math.sqrt(self.sentences))
            for name, values in self._measures().items()
        }

    def _measures(self) -> dict[str, tuple[float, ...]]:
        return {"mean_log_probability": self.mean_log_probabilities, "split_share": self.split_shares}


def split_words(tokens: Sequence[str]) -> tuple[int, int]:
    """Words in MANY_TOKENS tokens or more, and all words, of a sentence's tokens without its specials."""
    sizes: list[int] = []
    for token in tokens:
        if token.startswith(SPACE) or not sizes:
            sizes.append(0)
        sizes[-1] += token != SPACE and any(character.isalnum() for character in token)
    return sum(size >= MANY_TOKENS for size in sizes), sum(size > 0 for size in sizes)


@dataclass(frozen=True)
class OutputsMeasurement(SumsMeasurement):
    """How often there is which value of either figure, in units of the last digit that is kept."""

    name = "outputs"

    def open(self, model: Transformer, tokenizer: TextTokenizer) -> Callable[[Batch], Sums]:
        """Return the function of a batch."""

        def counted(batch: Batch) -> Sums:
            sources = [each.source for each in batch.examples]
            found = decode(model, sources, Greedy(), [tokenizer.given(text) for text in batch.texts])
            means = [each.log_probability / (len(each.ids) - model.config.num_forced) for each in found]
            shares = []
            for ids in tokenizer.encode_all(batch.texts):
                split, words = split_words([tokenizer.source_piece_text(token_id) for token_id in ids])
                shares.append(split / max(1, words))
            return Sums(len(sources), {"mean_log_probabilities": _counts(means), "split_shares": _counts(shares)})

        return counted


def outputs_from(sums: Sums, pairs: str, provenance: Provenance | None = None) -> OutputStatistics:
    """Return what was counted."""
    names = ("mean_log_probabilities", "split_shares")
    means, shares = (tuple(unit / 10**_DIGITS for unit in sorted(sums.parts[name].elements())) for name in names)
    return OutputStatistics(pairs, means, shares, provenance)


def measure_outputs(model: Transformer, tokenizer: TextTokenizer, texts: Sequence[str], pairs: str) -> OutputStatistics:
    """Translate the texts greedily; those that the model cannot take are left out. Raises ValueError without any."""
    readable = [text for text in texts if tokenizer.encode(text)]
    framed = [(Example(tuple(source_ids(tokenizer, text)), ()), text) for text in readable]
    sentences = [each for each in framed if each[0].length <= model.config.max_length]
    if not sentences:
        raise ValueError("at least one text expected that the model can take")
    return outputs_from(add_up(OutputsMeasurement().open(model, tokenizer), sentences), pairs)


def save_outputs(path: Path, measured: OutputStatistics) -> None:
    """Write the measurement as JSON, numbers to four decimals; raises OSError."""
    told = {"provenance": measured.provenance.content()} if measured.provenance else {}
    means = {name: [round(mean, 6), round(error, 6)] for name, (mean, error) in measured.means().items()}
    numbers = {
        "mean_log_probabilities": _shortened(measured.mean_log_probabilities),
        "split_shares": _shortened(measured.split_shares),
    }
    save_json(path, _VERSION, {"pairs": measured.pairs, **told, "means": means, **numbers})


def load_outputs(path: Path) -> OutputStatistics:
    """Read what `save_outputs` wrote; raises CheckpointError for anything else."""
    with reading_json(path, _VERSION) as content:
        means, shares = _values(content["mean_log_probabilities"], _LEAST, 0), _values(content["split_shares"], 0, 1)
        if not means or len(means) != len(shares):
            raise ValueError("its numbers cannot be")
        told = content.get("provenance")
        return OutputStatistics(str(content["pairs"]), means, shares, told and Provenance.read(told))


def pool(parts: Sequence[OutputStatistics]) -> OutputStatistics:
    """Return the measurements of several parts of a corpus together; raises DataError where they cannot be pooled."""
    told = pooled([each.provenance for each in parts])
    means = sorted(value for each in parts for value in each.mean_log_probabilities)
    shares = sorted(value for each in parts for value in each.split_shares)
    return OutputStatistics(", ".join(told.pairs), tuple(means), tuple(shares), told)


def _counts(values: Iterable[float]) -> Counter[int]:
    return Counter(round(value * 10**_DIGITS) for value in values)


def _shortened(values: Sequence[float]) -> list[object]:
    """Return each value, or, where several sentences have it, [value, how many]."""
    counts = sorted(_counts(values).items())
    return [unit / 10**_DIGITS if count == 1 else [unit / 10**_DIGITS, count] for unit, count in counts]


def _values(listed: Iterable[Any], least: float, most: float) -> tuple[float, ...]:
    values: list[float] = []
    for each in listed:
        value, count = each if isinstance(each, list) else (each, 1)
        if whole_number(count, least=1) > _MOST_SENTENCES - len(values):
            raise ValueError(f"more than {_MOST_SENTENCES:,} sentences")
        values += [number(value, least, most)] * count
    return tuple(sorted(values))
