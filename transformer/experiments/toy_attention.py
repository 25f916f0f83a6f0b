"""One attention block small enough to compute by hand: numbers from a seed, each to be replaced. NumPy only."""

from dataclasses import dataclass, replace

import numpy as np

from ..config import Norm, check_bounds, require
from ..errors import ConfigError
from ..interpret.attention_block import BlockParameters, Stages, compute_stages, differences
from ..model.names import Name


class ToyMask(Name):
    """The mask that a toy block begins with."""

    NONE = "none"
    CAUSAL = "causal"


LARGEST = 1000.0  # of a number that may be typed
_MOST = {"batch": 3, "tokens": 6, "d_model": 16, "num_heads": 8}


@dataclass(frozen=True)
class ToyShape:
    """Sizes of a toy block. Raises ConfigError for sizes that are too large or heads that do not divide d_model."""

    batch: int = 2
    tokens: int = 3
    d_model: int = 8
    num_heads: int = 2
    norm: Norm = Norm.POST

    def __post_init__(self):
        check_bounds(self, {name: (1, most) for name, most in _MOST.items()})
        multiple = f"{self.d_model} is not a multiple of {self.num_heads}. Choose others."
        require(self.d_model % self.num_heads == 0, f"num_heads must divide d_model: {multiple}")


@dataclass(frozen=True, eq=False)
class ToyNumbers:
    """Everything that goes into a toy block. x: [batch, tokens, d_model]; unmasked: [batch, tokens, tokens]."""

    x: np.ndarray
    unmasked: np.ndarray
    parameters: BlockParameters

    def stages(self) -> Stages:
        """What comes out, in float64."""
        return compute_stages(self.x, None, self.unmasked, self.parameters)


def toy_numbers(shape: ToyShape, seed: int, mask: ToyMask | str = ToyMask.NONE) -> ToyNumbers:
    """Numbers of one decimal, small enough for softmax to stay soft; raises ConfigError for an unknown mask."""
    if mask not in tuple(ToyMask):
        raise ConfigError(f"mask must be one of {', '.join(ToyMask)}, not {mask!r}.")
    generator = np.random.default_rng([seed, *_MOST.values()])
    d_model = shape.d_model

    def draw(*size: int, deviation: float) -> np.ndarray:
        return np.round(deviation * generator.standard_normal(size), 1) + 0.0  # no negative zeros

    x = draw(shape.batch, shape.tokens, d_model, deviation=1.0)
    drawn = {name: draw(d_model, d_model, deviation=0.5) for name in _MATRICES.values()}
    drawn |= {name: draw(d_model, deviation=0.1) for name in _ROWS["biases"]}
    parameters = BlockParameters(
        **drawn,
        gamma=np.ones(d_model),
        beta=np.zeros(d_model),
        epsilon=1e-5,
        num_heads=shape.num_heads,
        norm=shape.norm,
    )
    cells = np.ones((shape.batch, shape.tokens, shape.tokens), dtype=bool)
    return ToyNumbers(x, np.tril(cells) if mask == ToyMask.CAUSAL else cells, parameters)


TABLES = ("X", "W_Q", "W_K", "W_V", "W_O", "biases", "γ and β")
_MATRICES = {"W_Q": "w_query", "W_K": "w_key", "W_V": "w_value", "W_O": "w_output"}
_ROWS = {"biases": ("b_query", "b_key", "b_value", "b_output"), "γ and β": ("gamma", "beta")}


def table(numbers: ToyNumbers, name: str, sentence: int = 0) -> np.ndarray:
    """One of the TABLES as a matrix to be shown or changed; X is that of one sentence of the batch."""
    if name == "X":
        return numbers.x[sentence]
    if name in _MATRICES:
        return getattr(numbers.parameters, _MATRICES[name])
    return np.stack([getattr(numbers.parameters, row) for row in _ROWS[name]])


def with_table(numbers: ToyNumbers, name: str, values: np.ndarray, sentence: int = 0) -> ToyNumbers:
    """The same numbers with one table replaced; raises ConfigError for what is no number, or too large a one."""
    values = np.asarray(values, dtype=np.float64)
    if values.shape != table(numbers, name, sentence).shape:
        raise ValueError(f"{name} has the shape {table(numbers, name, sentence).shape}, got {values.shape}")
    if not np.isfinite(values).all() or np.abs(values).max() > LARGEST:
        raise ConfigError(f"Every cell of {name} needs a number between -{LARGEST:g} and {LARGEST:g}.")
    if name == "X":
        x = numbers.x.copy()
        x[sentence] = values
        return replace(numbers, x=x)
    changed = {_MATRICES[name]: values} if name in _MATRICES else dict(zip(_ROWS[name], values, strict=True))
    return replace(numbers, parameters=replace(numbers.parameters, **changed))


def single_precision(stages: Stages) -> Stages:
    """The same in float32, as a model holds it."""
    arrays = {name: value for name, value in vars(stages).items() if value.dtype != bool}
    return replace(stages, **{name: value.astype(np.float32) for name, value in arrays.items()})


def rounding_gaps(stages: Stages) -> dict[str, float]:
    """How far float32 is from float64, stage by stage."""
    return differences(single_precision(stages), stages)
