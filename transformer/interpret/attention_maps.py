"""Attention maps of any model: collected from arrays, tensors or an output of `transformers`, checked, and measured.

NumPy only. Tensors are converted by their own methods, outputs are read by their names.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import read_only, require_index
from ..data.tokenizer import SPACE
from ..model.names import AttentionKind
from .head_patterns import HeadMeasures, measure_heads

MOST_WEIGHTS = 64_000_000  # of all maps: a page with them has 170 MB
_OUTPUTS = {
    "attentions": AttentionKind.ENCODER,
    "encoder_attentions": AttentionKind.ENCODER,
    "decoder_attentions": AttentionKind.DECODER,
    "cross_attentions": AttentionKind.CROSS,
}
_SIDES = {  # of queries and of keys
    AttentionKind.ENCODER: ("source", "source"),
    AttentionKind.DECODER: ("target", "target"),
    AttentionKind.CROSS: ("target", "source"),
}
_SPECIAL = re.compile(r"</?(?:s|pad|bos|eos)>|\[(?:CLS|SEP|PAD)\]|<\|.+\|>")
_END = re.compile(r"</s>|<eos>|\[SEP\]|<\|(?:end|eot|im_end).*\|>")


@dataclass(frozen=True, eq=False)
class AttentionMaps:
    """Attention of one text, or of a source and a target, of any model; arrays are read-only.

    maps: by kind, [layers, heads, queries, keys], float32; heads: by kind, the heads of each layer. A layer with fewer
    heads than another has zeros in place of the rest. A model with self-attention alone has the kind "encoder" and
    `alone`, and its tokens are the source. outputs: the target's tokens that each row predicts, where they are known.
    """

    maps: Mapping[AttentionKind, np.ndarray]
    heads: Mapping[AttentionKind, tuple[int, ...]]
    source: tuple[str, ...]
    target: tuple[str, ...]
    outputs: tuple[str, ...] | None = None
    alone: bool = False

    def is_causal(self, kind: AttentionKind) -> bool:
        """Return True if no query has weight on a key after it; always False for cross-attention."""
        maps = self.maps[kind]
        size = maps.shape[-1]
        return kind != AttentionKind.CROSS and size > 1 and not maps[..., ~np.tri(size, dtype=bool)].any()

    def row_sums(self, kind: AttentionKind) -> tuple[float, float]:
        """Return the least and the largest sum of a row."""
        layers = zip(self.maps[kind], self.heads[kind], strict=True)
        sums = np.concatenate([maps[:heads].sum(axis=-1, dtype=np.float64).ravel() for maps, heads in layers])
        return float(sums.min()), float(sums.max())

    def measure(self, kind: AttentionKind) -> list[HeadMeasures]:
        """Measure all heads of a kind as `measure_heads` does; the first token of a text counts as its beginning."""
        maps, causal = self.maps[kind], self.is_causal(kind)
        if causal:
            maps = np.where(np.tri(maps.shape[-1], dtype=bool), maps, np.nan)
        measured_as = AttentionKind.DECODER if causal else AttentionKind.ENCODER
        keys = self.target if kind == AttentionKind.DECODER else self.source
        names = ["</s>" if _END.fullmatch(key) else "<s>" if is_special(key) else key for key in keys]
        if kind == AttentionKind.CROSS:
            return measure_heads(kind, maps, names, self.outputs)
        return measure_heads(measured_as, maps, ["<s>", *names[1:]])


def is_special(token: str) -> bool:
    """Return True for a token that marks the beginning, the end or the padding of a text in a common tokenizer."""
    return _SPECIAL.fullmatch(token) is not None


@dataclass(frozen=True, eq=False)
class Choice:
    """Choice of one text of a batch, None for the only one; beams: for each step of a beam search the chosen row."""

    batch: int | None = None
    beams: Sequence[int] | None = None


def attention_of_output(output: Any, batch: int | None) -> tuple[dict[AttentionKind, Any], bool, Choice]:
    """Return the attention of an output of `transformers` by kind, whether it has one stack alone, and the choice.

    Raises ValueError for an output without attention.
    """
    given = output if isinstance(output, Mapping) else {name: getattr(output, name, None) for name in _OUTPUTS}
    found = {name: given[name] for name in _OUTPUTS if _has_weights(given.get(name))}
    if not found:
        raise ValueError(
            "the output has no attention weights: load the model with attn_implementation='eager' and call it with "
            "output_attentions=True (generate: return_dict_in_generate=True as well)"
        )
    kinds = {_OUTPUTS[name]: layers for name, layers in found.items()}
    if "attentions" in found and len(found) > 1:  # a decoder that reads an encoder of another model
        kinds[AttentionKind.DECODER] = kinds.pop(AttentionKind.ENCODER)
    beams = getattr(output, "beam_indices", None)
    if beams is None:
        return kinds, "attentions" in found and len(found) == 1, Choice(batch)
    rows = np.asarray(beams.tolist())
    number = _index("beam_indices", batch, len(rows))
    if AttentionKind.ENCODER in kinds and "encoder_attentions" in found:  # it is computed once for all sequences
        texts = [_array(layer) for layer in kinds[AttentionKind.ENCODER]]
        kinds[AttentionKind.ENCODER] = [layer[number * len(layer) // len(rows)] for layer in texts]
    return kinds, len(found) == 1, Choice(number, rows[number].tolist())


def _has_weights(layers: Any) -> bool:
    """Return True unless there are no layers, or None in place of each, as without eager attention."""
    if layers is None or len(layers) == 0:
        return False
    return any(_has_weights(layer) if isinstance(layer, list | tuple) else layer is not None for layer in layers)


def collect_maps(
    given: Mapping[AttentionKind, Any],
    source: Sequence[str] | None,
    target: Sequence[str] | None,
    choice: Choice,
    *,
    alone: bool = False,
) -> AttentionMaps:
    """Collect attention of some kinds: of each the layers, [heads, queries, keys] or [batch, heads, queries, keys].

    In place of layers there may be the steps of a generation, each with its layers. Tokens None are numbered. Raises
    ValueError for shapes that do not fit each other or the tokens, for numbers that are no weights, and for nothing.
    """
    stitched, collected = False, {}
    for kind, layers in given.items():
        if not _has_weights(layers):
            raise ValueError(f"{kind}: expected a list of layers, got none")
        first = next(layer for layer in layers if layer is not None)
        is_steps = isinstance(first, list | tuple)
        stitched |= is_steps
        each = _stitched(kind, layers, choice) if is_steps else [_layer(kind, layer, choice.batch) for layer in layers]
        collected[kind] = each
    _check_size(collected)
    sizes: dict[str, int] = {}
    for kind, each in collected.items():
        _check(kind, each, sizes)
    extra = 1 if stitched else 0  # a generation ends with a token that nothing has read
    names = {"source": source, "target": target}
    tokens = {side: _tokens("tokens" if alone else side, names[side], size, extra) for side, size in sizes.items()}
    texts = {side: each[: sizes[side]] for side, each in tokens.items()}
    all_target = tokens.get("target", ())
    return AttentionMaps(
        maps={kind: _padded(each) for kind, each in collected.items()},
        heads={kind: tuple(map(len, each)) for kind, each in collected.items()},
        source=texts.get("source", ()),
        target=texts.get("target", ()),
        outputs=all_target[1:] if len(all_target) > sizes.get("target", 0) else None,
        alone=alone,
    )


def _array(values: Any) -> np.ndarray:
    if hasattr(values, "detach"):  # a tensor of PyTorch, of whose types NumPy lacks bfloat16
        values = values.detach().float().cpu().numpy()
    return np.asarray(values, dtype=np.float32)


def _index(name: str, index: int | None, count: int) -> int:
    if index is None and count > 1:
        raise ValueError(f"{name} has a batch of {count}: choose one by batch=0 to batch={count - 1}")
    require_index("batch", index or 0, count)
    return index or 0


def _layer(name: str, layer: Any, batch: int | None) -> np.ndarray:
    """Return one layer, [heads, queries, keys]; without heads for None, a layer without attention."""
    if layer is None:
        return np.zeros((0, 0, 0), dtype=np.float32)
    array = _array(layer)
    if array.ndim not in (3, 4):
        shape = "[heads, queries, keys] or [batch, heads, queries, keys]"
        raise ValueError(f"{name}: expected layers of the shape {shape}, got {list(array.shape)}")
    return array if array.ndim == 3 else array[_index(name, batch, len(array))]


def _stitched(kind: AttentionKind, steps: Sequence[Any], choice: Choice) -> list[np.ndarray]:
    """Put the rows of all steps of a generation below one another; keys that a step does not see have no weight."""
    numbers = [choice.batch] * len(steps) if choice.beams is None else [each for each in choice.beams if each >= 0]
    chosen = [[_layer(kind, layer, row) for layer in step] for step, row in zip(steps, numbers, strict=False)]
    return [_square(kind, parts) for parts in zip(*chosen, strict=True)]


def _square(kind: AttentionKind, parts: Sequence[np.ndarray]) -> np.ndarray:
    if kind == AttentionKind.CROSS:
        return np.concatenate(parts, axis=1)
    rows = sum(part.shape[1] for part in parts)
    whole, end = np.zeros((len(parts[0]), rows, rows), dtype=np.float32), 0
    for step, part in enumerate(parts):
        start, end = end, end + part.shape[1]
        if part[..., end:].any():  # beyond are the free places of a static cache
            raise ValueError(f"{kind}, step {step}: expected weights on at most {end} keys, got {list(part.shape)}")
        part = part[..., :end]  # of a sliding window the last keys
        whole[:, start:end, end - part.shape[-1] : end] = part
    return whole


def _check_size(collected: Mapping[AttentionKind, Sequence[np.ndarray]]) -> None:
    weights = sum(layer.size for layers in collected.values() for layer in layers)
    if not weights:
        raise ValueError("expected attention of at least one layer, got none")
    if weights > MOST_WEIGHTS:
        raise ValueError(f"expected at most {MOST_WEIGHTS:,} weights, got {weights:,}: choose some of the layers")


def _check(kind: AttentionKind, layers: Sequence[np.ndarray], sizes: dict[str, int]) -> None:
    """Raise ValueError for a layer whose queries and keys are not those of `sizes`, which the first one sets."""
    for number, layer in enumerate(layers):
        if not len(layer):
            continue
        for side, size in zip(_SIDES[kind], layer.shape[1:], strict=True):
            sizes.setdefault(side, size)
        expected = [sizes[side] for side in _SIDES[kind]]
        if list(layer.shape[1:]) != expected:
            raise ValueError(f"{kind}, layer {number}: expected [heads, *{expected}], got {list(layer.shape)}")
        if not layer.min() >= 0 or np.isinf(layer.max()):  # NaN is not at least 0
            raise ValueError(f"{kind}, layer {number}: expected weights of 0 or more, got {layer.min():.4g}")


def _padded(layers: Sequence[np.ndarray]) -> np.ndarray:
    most = max(layers, key=len)
    maps = np.zeros((len(layers), *most.shape), dtype=np.float32)
    for number, layer in enumerate(layers):
        if len(layer):
            maps[number, : len(layer)] = layer
    return read_only(maps)


def _tokens(name: str, given: Sequence[str] | None, size: int, extra: int) -> tuple[str, ...]:
    """Return so many tokens, or up to `extra` more, in SentencePiece's form; raises ValueError for others."""
    if given is None:
        return tuple(str(number + 1) for number in range(size))
    tokens = [] if isinstance(given, str) else list(given)
    if isinstance(given, str) or not all(isinstance(token, str) for token in tokens):
        raise ValueError(f"{name}: expected a list of texts, such as tokenizer.convert_ids_to_tokens(ids)")
    if not size <= len(tokens) <= size + extra:
        raise ValueError(f"{name}: expected {size} tokens, as many as the maps have, got {len(tokens)}")
    tokens = [token.encode("utf-8", "replace").decode() for token in tokens]
    if any(token.startswith("##") for token in tokens):  # WordPiece marks what continues a word, not what begins one
        return tuple(token[2:] if token.startswith("##") else _begun(token) for token in tokens)
    if any(token.startswith(SPACE) for token in tokens):
        return tuple(tokens)
    return tuple(token.replace("Ġ", SPACE).replace("Ċ", "↵") for token in tokens)  # byte-level BPE


def _begun(token: str) -> str:
    return token if is_special(token) or not token[:1].isalnum() else SPACE + token
