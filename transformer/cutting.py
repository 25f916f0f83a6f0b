"""Temperature, top-k and top-p: how a distribution over next tokens is bent and cut before one is drawn. NumPy only."""

from dataclasses import dataclass

import numpy as np

from .stages import masked_softmax


@dataclass(frozen=True, eq=False)
class Cut:
    """One step's distribution before and after. All arrays are [vocab], by id, and probabilities sum to 1.

    own: softmax of the logits; tempered: softmax of the logits / temperature; kept: True where a token may still be
    drawn; final: tempered, 0 where not kept, divided by what remains. `order` has the ids by falling logit.
    """

    logits: np.ndarray
    own: np.ndarray
    tempered: np.ndarray
    kept: np.ndarray
    final: np.ndarray
    order: np.ndarray

    @property
    def kept_mass(self) -> float:
        """What the kept tokens have of the tempered distribution."""
        return float(self.tempered[self.kept].sum())


def cut(logits: np.ndarray, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0) -> Cut:
    """Divide by the temperature, keep the `top_k` best (0: all), then of these the fewest that hold `top_p` of them.

    That order is the one of Hugging Face's `generate`; top-p is Holtzman et al. 2020, eq. 2. The best token always
    stays. Raises ValueError for a temperature or top_p that is not positive, a top_p above 1, or a negative top_k.
    """
    if not temperature > 0 or top_k < 0 or not 0 < top_p <= 1:
        raise ValueError(f"cannot cut with temperature={temperature}, top_k={top_k}, top_p={top_p}")
    logits = np.asarray(logits, dtype=np.float64)
    everywhere = np.ones(logits.shape, dtype=bool)
    own, tempered = masked_softmax(logits, everywhere), masked_softmax(logits / temperature, everywhere)
    order = np.argsort(-logits, kind="stable")
    kept = np.zeros(logits.shape, dtype=bool)
    kept[order[: top_k or len(order)]] = True
    if top_p < 1:
        among = np.where(kept, tempered, 0.0)[order] / tempered[kept].sum()
        before = np.cumsum(among) - among  # the mass of all better ones
        kept[order[before >= top_p]] = False
    final = np.where(kept, tempered, 0.0)
    return Cut(logits, own, tempered, kept, final / final.sum(), order)
