"""What sampling leaves of one step's distribution: temperature, top-k and top-p (nucleus, Holtzman et al. 2020)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import softmax


@dataclass(frozen=True, eq=False)
class Truncation:
    """One step's distribution as sampling draws from it. All arrays are [vocab], by id, and probabilities sum to 1.

    own: softmax of the logits; scaled: softmax of the logits / temperature; kept: True where a token may still be
    drawn; final: scaled, 0 where not kept, divided by what remains. `order` has the ids by falling logit, `forbidden`
    those that are never drawn.
    """

    logits: np.ndarray
    own: np.ndarray
    scaled: np.ndarray
    kept: np.ndarray
    final: np.ndarray
    order: np.ndarray
    forbidden: tuple[int, ...] = ()

    @property
    def kept_mass(self) -> float:
        """What the kept tokens have of the distribution scaled by temperature."""
        return float(self.scaled[self.kept].sum())


def truncate(
    logits: np.ndarray,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    forbidden: Sequence[int] = (),
) -> Truncation:
    """Divide by the temperature, keep the `top_k` best (0: all), then of these the fewest that hold `top_p` of them.

    That order is the one of Hugging Face's `generate`; top-p is Holtzman et al. 2020's nucleus sampling. `forbidden`
    ids are left out before; the best other token always stays. Raises ValueError for a temperature or top_p that is not
    positive, a top_p above 1, or a negative top_k.
    """
    if not temperature > 0 or top_k < 0 or not 0 < top_p <= 1:
        raise ValueError(f"cannot truncate with temperature={temperature}, top_k={top_k}, top_p={top_p}")
    logits = np.asarray(logits, dtype=np.float64)
    own, scaled = softmax(logits), softmax(logits / temperature)
    order = np.argsort(-logits, kind="stable")
    allowed = order[~np.isin(order, list(forbidden))]
    kept = np.zeros(logits.shape, dtype=bool)
    kept[allowed[: top_k or len(allowed)]] = True
    if top_p < 1:
        among = np.where(kept, scaled, 0.0)[allowed] / scaled[kept].sum()
        before = np.cumsum(among) - among  # the mass of all better ones
        kept[allowed[before >= top_p]] = False
    final = np.where(kept, scaled, 0.0)
    return Truncation(logits, own, scaled, kept, final / final.sum(), order, tuple(forbidden))
