"""Exercises that check themselves: a student's functions on the tensors of a shipped model.

    hl.check("causal_mask", causal_mask)

Functions take and return PyTorch tensors; masks are boolean, True = may attend.
"""

import math
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor

from transformer.interpret.attention_block import block_parameters
from transformer.model.layers import sinusoidal_positions
from transformer.translator import Translator

SENTENCE = "The cat is hungry because it has not eaten."
_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Verdict:
    """Result of a check: `is_right`, and a sentence that says what differs."""

    is_right: bool
    sentence: str

    def __repr__(self) -> str:
        return self.sentence


@dataclass(frozen=True)
class Exercise:
    """Arguments for a student's function, the model's own result, and known mistakes with sentences about them."""

    arguments: tuple[Any, ...]
    expected: Tensor
    mistakes: Sequence[tuple[str, Tensor]]


def check(exercise: str, function: Callable[..., Tensor]) -> Verdict:
    """Call a function with tensors of the model en-de and compare its result with the model's own.

    exercise: "causal_mask", a function of length; "attention", of query, key, value and mask; "multi_head_attention",
    of x, memory, the dictionary of parameters, the number of heads and mask; "positional_encoding", of length and
    d_model. Raises ValueError for another exercise; errors of the function are reported in the verdict.
    """
    if exercise not in EXERCISES:
        raise ValueError(f"exercise must be one of {', '.join(EXERCISES)}, got {exercise!r}")
    first, *others = (_try(function, make()) for make in EXERCISES[exercise])
    fault = next((each.sentence for each in others if not each.is_right), "")
    return Verdict(False, f"Not with another length: {fault}") if first.is_right and fault else first


def _try(function: Callable[..., Tensor], exercise: Exercise) -> Verdict:
    """Call a function with copies of the arguments, which it may change, and compare its result."""
    try:
        result = function(*map(deepcopy, exercise.arguments))
    except Exception as error:  # the student's own code
        return Verdict(False, f"Your function raises {type(error).__name__}: {error}")
    return _compare(result, exercise)


def _compare(result: object, exercise: Exercise) -> Verdict:
    expected = exercise.expected
    if not isinstance(result, Tensor):
        return Verdict(False, f"A tensor is expected, not {type(result).__name__}.")
    if result.shape != expected.shape:
        return Verdict(False, f"The shape is {tuple(result.shape)}; the model's is {tuple(expected.shape)}.")
    if (result.dtype == torch.bool) != (expected.dtype == torch.bool):
        return Verdict(False, f"The type is {result.dtype}; {expected.dtype} is expected.")
    result = result.detach()
    if _is_close(result, expected):
        return Verdict(True, f"Right: all {expected.numel():,} numbers are the model's.")
    for sentence, mistake in exercise.mistakes:
        if result.shape == mistake.shape and _is_close(result, mistake):
            return Verdict(False, sentence)
    wrong = int((~torch.isclose(result.double(), expected.double(), atol=_TOLERANCE)).sum())
    return Verdict(False, f"{wrong:,} of {expected.numel():,} numbers differ from the model's.")


def _is_close(one: Tensor, other: Tensor) -> bool:
    return torch.allclose(one.double(), other.double(), atol=_TOLERANCE, equal_nan=True)


def _causal_mask(length: int) -> Exercise:
    expected = torch.ones(length, length).tril().bool()
    mistakes = (
        ("The mask is the other way round: True means “may attend”.", ~expected),
        ("Rows are queries, columns are keys: the mask is transposed.", expected.T),
        ("A token may attend to itself: the diagonal is missing.", torch.ones(length, length).tril(-1).bool()),
    )
    return Exercise((length,), expected, mistakes)


def _positional_encoding(length: int, d_model: int) -> Exercise:
    expected = sinusoidal_positions(length, d_model)
    sine, cosine = expected[:, 0::2], expected[:, 1::2]
    exponents = torch.arange(d_model // 2, dtype=torch.float64) / d_model  # i / d_model, not 2 i / d_model
    angles = torch.arange(length, dtype=torch.float64)[:, None] * 10000.0**-exponents
    mistakes = (
        ("Sine and cosine alternate: dimension 2 i is a sine, 2 i + 1 its cosine.", torch.cat([sine, cosine], dim=1)),
        ("Sine and cosine are exchanged.", torch.stack([cosine, sine], dim=-1).flatten(-2)),
        ("The exponent is 2 i / d_model.", torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2).float()),
    )
    return Exercise((length, d_model), expected, mistakes)


def _attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, *, scale: float, dim: int = -1) -> Tensor:
    scores = (query @ key.transpose(-2, -1) * scale).masked_fill(~mask, -math.inf)
    return scores.softmax(dim).nan_to_num() @ value


def _attention() -> Exercise:
    """Masked self-attention of the decoder's first layer, [heads, length, d_k]."""
    stages = _stages()
    heads = stages["weights"].shape[0]
    query, key, value = (_split(stages[name], heads) for name in ("query", "key", "value"))
    mask, scale = stages["mask"], 1 / math.sqrt(query.shape[-1])
    expected = _split(stages["concatenated"], heads)
    mistakes = (
        ("The scores are not divided by √d_k.", _attend(query, key, value, mask, scale=1)),
        ("The scores are divided by d_k, not by its root.", _attend(query, key, value, mask, scale=scale**2)),
        ("The mask has no effect.", _attend(query, key, value, torch.ones_like(mask), scale=scale)),
        ("The mask is the other way round.", _attend(query, key, value, ~mask, scale=scale)),
        (
            "Softmax has to run over the keys, not the queries.",
            _attend(query, key, value, mask, scale=scale, dim=-2),
        ),
    )
    return Exercise((query, key, value, mask), expected, mistakes)


def _multi_head_attention() -> Exercise:
    stages, parameters = _stages(), _parameters()
    heads, x, mask = stages["weights"].shape[0], stages["x"], stages["mask"]
    joined, w_output, b_output = stages["concatenated"], parameters["w_output"], parameters["b_output"]
    interleaved = joined.reshape(len(x), heads, -1).transpose(-2, -1).flatten(-2)
    mistakes = (
        ("The output is not multiplied by W_O.", joined),
        ("The bias of the output is missing.", joined @ w_output),
        ("The heads are not concatenated one after the other.", interleaved @ w_output + b_output),
    )
    return Exercise((x, x, parameters, heads, mask), stages["output"], mistakes)


def _split(vectors: Tensor, heads: int) -> Tensor:
    """Return [heads, length, d_k] of [length, heads d_k]."""
    return vectors.unflatten(-1, (heads, -1)).transpose(0, 1)


@cache
def _model() -> Translator:
    return Translator.load("en-de", "cpu")


@cache
def _stages() -> dict[str, Tensor]:
    stages = _model().study(SENTENCE).stages("decoder", 0)
    arrays = {name: torch.tensor(array[0]) for name, array in stages.arrays.items() if name != "bias"}
    return {**arrays, "mask": arrays["unmasked"]}


@cache
def _parameters() -> dict[str, Tensor]:
    """Weights of the block as x @ w + b takes them: w_query, w_key, w_value, w_output and their b_*."""
    block = block_parameters(_model().model, "decoder", 0)
    names = (f"{letter}_{part}" for letter in "wb" for part in ("query", "key", "value", "output"))
    return {name: torch.tensor(getattr(block, name)) for name in names}


# Exercises of each function; it must be right in all of them.
EXERCISES: dict[str, tuple[Callable[[], Exercise], ...]] = {
    "causal_mask": (partial(_causal_mask, 6), partial(_causal_mask, 9)),
    "attention": (_attention,),
    "multi_head_attention": (_multi_head_attention,),
    "positional_encoding": (partial(_positional_encoding, 40, 256), partial(_positional_encoding, 7, 64)),
}
