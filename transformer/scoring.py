"""Translation quality: BLEU and chrF as sacreBLEU computes them."""

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics import BLEU, CHRF


@dataclass(frozen=True)
class Score:
    """Corpus BLEU (Papineni et al. 2002; cased) and chrF (Popovic 2015), both 0 to 100, with BLEU's signature."""

    bleu: float
    chrf: float
    signature: str
    sentences: int


def score(translations: Sequence[str], references: Sequence[str], tokenize: str = "13a") -> Score:
    """Compare translations with one reference each; raises ValueError when their numbers differ.

    `tokenize` is how sacreBLEU splits text into words for BLEU; "none" takes it as already tokenized, at its spaces.
    """
    if len(translations) != len(references) or not references:
        raise ValueError(f"as many translations as references expected, got {len(translations)}, {len(references)}")
    bleu, chrf = BLEU(tokenize=tokenize), CHRF()
    result = bleu.corpus_score(list(translations), [list(references)])
    return Score(
        bleu=result.score,
        chrf=chrf.corpus_score(list(translations), [list(references)]).score,
        signature=str(bleu.get_signature()),
        sentences=len(references),
    )
