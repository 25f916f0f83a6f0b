"""Scores of translations: BLEU and chrF; and the calibration of probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from .arrays import read_only, to_array
from .data.batching import Examples, collate, epoch_batches
from .errors import ConfigError
from .model.transformer import Transformer


@dataclass(frozen=True)
class Score:
    """Corpus BLEU (Papineni et al. 2002; cased) and chrF (Popovic 2015), both 0 to 100, with BLEU's signature."""

    bleu: float
    chrf: float
    signature: str
    sentences: int


def score(translations: Sequence[str], references: Sequence[str], tokenize: str = "13a") -> Score:
    """Compare translations with one reference each.

    Raises ValueError when their numbers differ, and ConfigError without the extra `train`. `tokenize` is how sacreBLEU
    splits text into words for BLEU; "none" takes it as already tokenized, at its spaces.
    """
    if len(translations) != len(references) or not references:
        raise ValueError(f"as many translations as references expected, got {len(translations)}, {len(references)}")
    try:
        from sacrebleu.metrics import BLEU, CHRF
    except ModuleNotFoundError as error:
        raise ConfigError('sacreBLEU is not installed: pip install "headlight-transformer[train]".') from error
    bleu, chrf = BLEU(tokenize=tokenize), CHRF()
    return Score(
        bleu=bleu.corpus_score(list(translations), [list(references)]).score,
        chrf=chrf.corpus_score(list(translations), [list(references)]).score,
        signature=str(bleu.get_signature()),
        sentences=len(references),
    )


_BATCH_TOKENS = 2048
_BINS = 10  # of the calibration


@dataclass(frozen=True, eq=False)
class Confidence:
    """One entry a target token that is not forced on every translation: the probability of the best token, whether it
    is the reference's, and the probability of the reference's token. Arrays are read-only: [tokens]."""

    best: np.ndarray
    right: np.ndarray
    reference: np.ndarray

    def calibration(self) -> list[tuple[float, float, int]]:
        """Bin tokens by the probability of the best: mean probability, share right, number; no empty bins."""
        numbers = np.minimum((self.best * _BINS).astype(int), _BINS - 1)
        chosen = [selected for selected in (numbers == number for number in range(_BINS)) if selected.any()]
        return [
            (float(self.best[selected].mean()), float(self.right[selected].mean()), int(selected.sum()))
            for selected in chosen
        ]


@torch.inference_mode()
def measure_confidence(model: Transformer, examples: Examples) -> Confidence:
    """Run all examples, teacher-forced; their order is not kept."""
    parts = []
    for batch in epoch_batches(examples, _BATCH_TOKENS, 0.0, model.config.max_length, seed=0):
        source, decoder_input, target = (ids.to(model.device) for ids in collate(batch, model.config.pad_id))
        probabilities = model(source, decoder_input).softmax(dim=-1)
        best = probabilities.max(dim=-1)
        real = target != model.config.pad_id
        real[:, : model.config.num_forced] = False
        reference = probabilities.gather(-1, target[..., None])[..., 0]
        right = best.indices == target
        parts.append(Confidence(*(to_array(each[real]) for each in (best.values, right, reference))))
    return concatenate(parts)


def concatenate(parts: Sequence[Confidence]) -> Confidence:
    """Several measurements as one."""
    columns = zip(*((part.best, part.right, part.reference) for part in parts), strict=True)
    return Confidence(*(read_only(np.concatenate(column)) for column in columns))
