"""Attention maps of any model: collected from arrays, tensors or an output of `transformers`, checked, and measured."""

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
ENCODER, DECODER, CROSS = AttentionKind
_OUTPUTS = {  # names of transformers
    "attentions": ENCODER,
    "encoder_attentions": ENCODER,
    "decoder_attentions": DECODER,
    "cross_attentions": CROSS,
}
_SIDES = {ENCODER: ("source", "source"), DECODER: ("target", "target"), CROSS: ("target", "source")}
_SPECIAL = re.compile(r"</?(?:s|pad|bos|eos)>|\[(?:CLS|SEP|PAD)\]|<\|.+\|>")
_END = re.compile(r"</s>|<eos>|\[SEP\]|<\|(?:end|eot|im_end).*\|>")


@dataclass(frozen=True, eq=False)
class AttentionMaps:
    """Attention of one text, or of a source and a target, of any model; arrays are read-only.

    maps: by kind, [layers, heads, queries, keys], float32; heads: by kind, the heads of each layer. A layer with fewer
    heads than another has zeros in place of the rest. A model with self-attention alone has the kind "encoder", and its
    tokens are the source. outputs: the target's tokens that each row predicts, where they are known.
    """

    maps: Mapping[AttentionKind, np.ndarray]
    heads: Mapping[AttentionKind, tuple[int, ...]]
    source: tuple[str, ...]
    target: tuple[str, ...]
    outputs: tuple[str, ...] | None = None

    def is_causal(self, kind: AttentionKind) -> bool:
        """Return True if no query has weight on a key after it; always False for cross-attention."""
        size = self.maps[kind].shape[-1]
        return kind != CROSS and size > 1 and not self.maps[kind][..., ~np.tri(size, dtype=bool)].any()

    def row_sums(self, kind: AttentionKind) -> tuple[float, float]:
        """Return the least and the largest sum of a row."""
        layers = zip(self.maps[kind], self.heads[kind], strict=True)
        sums = np.concatenate([maps[:heads].sum(axis=-1, dtype=np.float64).ravel() for maps, heads in layers])
        return float(sums.min()), float(sums.max())

    def measure(self, kind: AttentionKind) -> list[HeadMeasures]:
        """Measure all heads of a kind as `measure_heads` does; the first token of a text counts as its beginning."""
        keys = self.target if kind == DECODER else self.source
        names = ["</s>" if _END.fullmatch(key) else key for key in keys]
        if kind != CROSS or is_special(keys[0]):
            names[0] = "<s>"
        if kind == CROSS:
            return measure_heads(kind, self.maps[kind], names, self.outputs)
        if not self.is_causal(kind):
            return measure_heads(ENCODER, self.maps[kind], names)
        maps = np.where(np.tri(len(keys), dtype=bool), self.maps[kind], np.nan)
        return measure_heads(DECODER, maps, names)


def is_special(token: str) -> bool:
    """Return True for a token that marks the beginning, the end or the padding of a text in a common tokenizer."""
    return _SPECIAL.fullmatch(token) is not None


def attention_of_output(output: Any, batch: int | None) -> dict[AttentionKind, Any]:
    """Return the attention of an output of `transformers` by kind, of a beam search that of one sequence.

    Raises ValueError for an output without attention.
    """
    fields = output if isinstance(output, Mapping) else getattr(output, "__dict__", {})
    layers_by_name = {name: fields[name] for name in _OUTPUTS if _has_weights(fields.get(name))}
    if not layers_by_name:
        raise ValueError(
            "the output has no attention weights: load the model with attn_implementation='eager' and call it with "
            "output_attentions=True (generate: return_dict_in_generate=True as well)"
        )
    kinds = {_OUTPUTS[name]: layers for name, layers in layers_by_name.items()}
    if "attentions" in layers_by_name and len(layers_by_name) > 1:  # a decoder that reads another model's output
        kinds[DECODER] = kinds.pop(ENCODER)
    if fields.get("beam_indices") is not None:  # the row of the sequence in each step, -1 after its end
        rows = fields["beam_indices"].tolist()
        number = _index("beam_indices", batch, len(rows))
        for kind, layers in kinds.items():
            if isinstance(layers[0], list | tuple):
                steps = zip(layers, rows[number], strict=False)
                kinds[kind] = [[layer[row] for layer in step] for step, row in steps if row >= 0]
            else:
                kinds[kind] = [layer[number * len(layer) // len(rows)] for layer in layers]
    return kinds


def collect_maps(
    attention: Mapping[AttentionKind, Any], tokens: Mapping[str, Sequence[str] | None], batch: int | None = None
) -> AttentionMaps:
    """Collect attention of some kinds: of each the layers, [heads, queries, keys] or [batch, heads, queries, keys].

    In place of layers there may be the steps of a generation, each with its layers. tokens: those of the "source" and
    of the "target"; None are numbered. Raises ValueError for shapes that do not fit each other or the tokens, and for
    numbers that are no weights.
    """
    collected = {kind: _layers(kind, layers, batch) for kind, layers in attention.items()}
    weights = sum(layer.size for layers in collected.values() for layer in layers)
    if weights > MOST_WEIGHTS:
        raise ValueError(f"expected at most {MOST_WEIGHTS:,} weights, got {weights:,}: choose some of the layers")
    sizes: dict[str, int] = {}
    for kind, layers in collected.items():
        _check(kind, layers, sizes)
    unread = [side for side, texts in tokens.items() if texts is not None and side not in sizes]
    if unread:
        raise ValueError(f"{unread[0]}: expected no tokens, since none of {', '.join(attention)} attention reads them")
    extra = any(map(_is_step, attention.values()))  # a generation ends with a token that nothing has read
    texts = {side: _tokens(side, tokens.get(side), size, extra) for side, size in sizes.items()}
    return AttentionMaps(
        maps={kind: _padded(layers) for kind, layers in collected.items()},
        heads={kind: tuple(map(len, layers)) for kind, layers in collected.items()},
        source=texts.get("source", ())[: sizes.get("source")],
        target=texts.get("target", ())[: sizes.get("target")],
        outputs=texts["target"][1:] if len(texts.get("target", ())) > sizes.get("target", 0) else None,
    )


def _has_weights(layers: Any) -> bool:
    """Return True unless there are no layers, or None in place of each, as without eager attention."""
    if layers is None or len(layers) == 0:
        return False
    return any(_has_weights(layer) if isinstance(layer, list | tuple) else layer is not None for layer in layers)


def _is_step(steps: Any) -> bool:
    return isinstance(steps[0], list | tuple) and any(getattr(layer, "ndim", 0) > 2 for layer in steps[0])


def _index(name: str, index: int | None, count: int) -> int:
    if index is None and count > 1:
        raise ValueError(f"{name} has a batch of {count}: choose one by batch=0 to batch={count - 1}")
    require_index("batch", index or 0, count)
    return index or 0


def _layers(kind: AttentionKind, layers: Any, batch: int | None) -> list[np.ndarray]:
    """Return the layers of one text; the rows of all steps of a generation are put below one another."""
    if not _has_weights(layers):
        raise ValueError(f"{kind}: expected a list of layers, got none")
    if not _is_step(layers):
        return [_layer(kind, layer, batch) for layer in layers]
    steps = [[_layer(kind, layer, batch) for layer in step] for step in layers]
    join = np.concatenate if kind == CROSS else _square
    return [join(parts, 1) for parts in zip(*steps, strict=True)]


def _layer(name: str, layer: Any, batch: int | None) -> np.ndarray:
    """Return [heads, queries, keys]; without heads for None, a layer without attention."""
    if layer is None:
        return np.zeros((0, 0, 0), dtype=np.float32)
    if hasattr(layer, "detach"):  # a tensor of PyTorch, of whose types NumPy lacks bfloat16
        layer = layer.detach().float().cpu().numpy()
    array = np.asarray(layer, dtype=np.float32)
    if array.ndim not in (3, 4):
        shape = "[heads, queries, keys] or [batch, heads, queries, keys]"
        raise ValueError(f"{name}: expected layers of the shape {shape}, got {list(array.shape)}")
    return array if array.ndim == 3 else array[_index(name, batch, len(array))]


def _square(parts: Sequence[np.ndarray], axis: int) -> np.ndarray:
    """Join the steps of self-attention, whose number of keys grows; keys that a step does not have get no weight."""
    rows = sum(part.shape[axis] for part in parts)
    whole, end = np.zeros((len(parts[0]), rows, rows), dtype=np.float32), 0
    for step, part in enumerate(parts):
        start, end = end, end + part.shape[axis]
        if part[..., end:].any():  # beyond are the free places of a static cache
            raise ValueError(f"step {step}: expected weights on at most {end} keys, got {list(part.shape)}")
        part = part[..., :end]  # of a sliding window the last keys
        whole[:, start:end, end - part.shape[-1] : end] = part
    return whole


def _check(kind: AttentionKind, layers: Sequence[np.ndarray], sizes: dict[str, int]) -> None:
    """Raise ValueError for a layer whose queries and keys are not those of `sizes`, which the first one sets."""
    for number, layer in enumerate(layers):
        if not layer.size:
            continue
        for side, size in zip(_SIDES[kind], layer.shape[1:], strict=True):
            sizes.setdefault(side, size)
        expected = [len(layer), *(sizes[side] for side in _SIDES[kind])]
        if list(layer.shape) != expected:
            raise ValueError(f"{kind}, layer {number}: expected {expected}, got {list(layer.shape)}")
        if not (layer.min() >= 0 and layer.max() < np.inf):  # also NaN
            raise ValueError(f"{kind}, layer {number}: expected weights of 0 or more, got {layer.min():.4g}")


def _padded(layers: Sequence[np.ndarray]) -> np.ndarray:
    maps = np.zeros((len(layers), *max(layers, key=len).shape), dtype=np.float32)
    for number, layer in enumerate(layers):
        maps[number, : len(layer)] = layer if layer.size else 0
    return read_only(maps)


def _tokens(name: str, texts: Sequence[str] | None, size: int, extra: bool) -> tuple[str, ...]:
    """Return so many tokens, or one more with `extra`, in SentencePiece's form; raises ValueError for others."""
    if texts is None:
        return tuple(str(number + 1) for number in range(size))
    if isinstance(texts, str) or not all(isinstance(token, str) for token in texts):
        raise ValueError(f"{name}: expected a list of texts, such as tokenizer.convert_ids_to_tokens(ids)")
    if not size <= len(texts) <= size + extra:
        raise ValueError(f"{name}: expected {size} tokens, as many as the maps have, got {len(texts)}")
    tokens = [token.encode("utf-8", "replace").decode() for token in texts]
    if any(token.startswith(SPACE) for token in tokens):
        return tuple(tokens)
    if any(token.startswith("##") for token in tokens):  # WordPiece marks what continues a word, not what begins one
        begun = (SPACE + token if token[:1].isalnum() else token for token in tokens)
        return tuple(token.removeprefix("##") for token in begun)
    return tuple(token.replace("Ġ", SPACE).replace("Ċ", "↵") for token in tokens)  # byte-level BPE
