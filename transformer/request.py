"""How a text is decoded, as one value: the search, what the translation begins with, languages and interventions."""

from dataclasses import dataclass, replace
from typing import Any, TypedDict, Unpack

from .data.batching import Ids
from .decoding.beam import Beam, strategy_for
from .decoding.sampling import Greedy, Sampling
from .interpret.what_if.running import Asked, HeadMeans, read_all

Strategy = Greedy | Sampling | Beam


class DecodingOptions(TypedDict, total=False):
    """The fields of a `Decoding` as keyword arguments; `beam` is short for a strategy, 1 for greedy decoding."""

    beam: int
    strategy: Strategy
    prefix: str | Ids
    target_language: str | None
    source_language: str | None
    interventions: Asked
    means: HeadMeans | None


@dataclass(frozen=True)
class Decoding:
    """How a text is decoded. Fields are checked and brought into one form, so that it can be part of a cache's key.

    prefix: a text or ids that the translation begins with; the languages: those of a model that has several, see
    `TextReader.addressed`; interventions: what the model runs under, given as such or as their texts, and `means`, what
    mean ablation puts in place of a head's output, see `apply_interventions`. Raises ValueError and InterventionError.
    """

    strategy: Strategy = Greedy()
    prefix: str | Ids = ()
    target_language: str | None = None
    source_language: str | None = None
    interventions: Asked = ()
    means: HeadMeans | None = None

    def __post_init__(self):
        if not isinstance(self.strategy, Strategy):
            raise ValueError(f"strategy must be Greedy, Sampling or Beam, got {self.strategy!r}")
        if not isinstance(self.prefix, str):
            object.__setattr__(self, "prefix", tuple(self.prefix))
        object.__setattr__(self, "interventions", read_all(self.interventions))

    @classmethod
    def read(cls, decoding: "Decoding | Strategy | None", **options: Unpack[DecodingOptions]) -> "Decoding":
        """A decoding, or that of a strategy alone, with some of its fields replaced."""
        whole = decoding if isinstance(decoding, Decoding) else cls() if decoding is None else cls(strategy=decoding)
        fields: dict[str, Any] = dict(options)
        if "beam" in fields:
            fields.setdefault("strategy", strategy_for(fields.pop("beam")))
        return replace(whole, **fields)
