"""Names and order of the weights of Marian, BART, mBART and M2M100 in Hugging Face's transformers.

Two things differ besides names. Query, key and value are three matrices there and one here. And where the positional
encoding is computed, it has its sines in the first half of the dimensions and its cosines in the second
(modeling_marian.py and modeling_m2m_100.py, the classes of sinusoids), where the paper (3.5) has them in turn. The sums
of the residual stream do not depend on the order of its dimensions, so every axis of it is put into the other order,
and all numbers stay.
"""

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from ..config import Activation, ModelConfig, Norm, Positions
from ..errors import CheckpointError
from ..files import read_object, read_tensors
from ..untrusted import open_regular

SHARED = "model.shared.weight"
OUTPUT_BIAS = "final_logits_bias"
SOURCE_EMBEDDING, TARGET_EMBEDDING = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"
OUTPUT = "lm_head.weight"
POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")
ACTIVATIONS = {
    "relu": Activation.RELU,
    "gelu": Activation.GELU,
    "gelu_new": Activation.GELU_NEW,
    "swish": Activation.SILU,
    "silu": Activation.SILU,
}


@dataclass(frozen=True)
class Part:
    """A weight here and what it is there: `theirs` under one another; its rows, columns, or both lie along the residual
    stream."""

    ours: str
    theirs: tuple[str, ...]
    rows: bool = False
    columns: bool = False


def parts(config: ModelConfig) -> Iterator[Part]:
    """Every weight of a model, but for the output's bias."""
    if config.target_vocab_size:
        yield Part("source_embedding.embedding.weight", (SOURCE_EMBEDDING,), columns=True)
        yield Part("target_embedding.embedding.weight", (TARGET_EMBEDDING,), columns=True)
    else:
        yield Part("source_embedding.embedding.weight", (SHARED,), columns=True)
    if config.positions == Positions.LEARNED:
        for ours, theirs in zip(("positions.table", "target_positions.table"), POSITIONS, strict=True):
            yield Part(ours, (theirs,), columns=True)
    for stack, layers in (("encoder", config.num_encoder_layers), ("decoder", config.num_decoder_layers)):
        if config.embedding_norm:
            yield from _norm(f"{stack}_embedding_norm", f"model.{stack}.layernorm_embedding")
        for number in range(layers):
            yield from _layer(f"{stack}.{number}", f"model.{stack}.layers.{number}")
        if config.norm == Norm.PRE:
            yield from _norm(f"{stack}_norm", f"model.{stack}.layer_norm")


def _layer(ours: str, theirs: str) -> Iterator[Part]:
    attentions = [("self_attention", "self_attn"), ("cross_attention", "encoder_attn")]
    for kind, name in attentions[: 2 if ours.startswith("decoder") else 1]:
        projections = [f"{theirs}.{name}.{each}_proj" for each in "qkv"]
        yield Part(f"{ours}.{kind}.query_key_value.weight", tuple(f"{p}.weight" for p in projections), columns=True)
        yield Part(f"{ours}.{kind}.query_key_value.bias", tuple(f"{p}.bias" for p in projections))
        yield Part(f"{ours}.{kind}.output.weight", (f"{theirs}.{name}.out_proj.weight",), rows=True)
        yield Part(f"{ours}.{kind}.output.bias", (f"{theirs}.{name}.out_proj.bias",), rows=True)
        yield from _norm(f"{ours}.{kind}_residual.norm", f"{theirs}.{name}_layer_norm")
    yield Part(f"{ours}.feed_forward.inner.weight", (f"{theirs}.fc1.weight",), columns=True)
    yield Part(f"{ours}.feed_forward.inner.bias", (f"{theirs}.fc1.bias",))
    yield Part(f"{ours}.feed_forward.outer.weight", (f"{theirs}.fc2.weight",), rows=True)
    yield Part(f"{ours}.feed_forward.outer.bias", (f"{theirs}.fc2.bias",), rows=True)
    yield from _norm(f"{ours}.feed_forward_residual.norm", f"{theirs}.final_layer_norm")


def _norm(ours: str, theirs: str) -> Iterator[Part]:
    for end in ("weight", "bias"):
        yield Part(f"{ours}.{end}", (f"{theirs}.{end}",), rows=True)


def in_turn(d_model: int) -> Tensor:
    """Return the index of each dimension, sines and cosines in turn, in the order by halves: [d_model]."""
    half = torch.arange(d_model // 2)
    return torch.stack([half, half + d_model // 2], dim=1).flatten()


def by_halves(d_model: int) -> Tensor:
    """Return the inverse of `in_turn`."""
    return in_turn(d_model).argsort()


def reordered(weight: Tensor, part: Part, order: Tensor) -> Tensor:
    """Return a weight with the axes that lie along the residual stream in another order."""
    if part.rows:
        weight = weight[order]
    return weight[:, order] if part.columns else weight


CONFIG, GENERATION = "config.json", "generation_config.json"
WEIGHTS, INDEX, PICKLED = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin")


def read_weights(folder: Path) -> dict[str, torch.Tensor]:
    """All weights by name: of model.safetensors, of its shards, or of pytorch_model.bin, no code of which is run.

    Raises CheckpointError where there are none, a file is damaged, or the index names a file elsewhere.
    """
    if (folder / WEIGHTS).exists():
        return read_tensors(folder / WEIGHTS)
    if (folder / INDEX).exists():
        return _shards(folder)
    if (folder / PICKLED).exists():
        return read_pickled(folder / PICKLED)
    raise CheckpointError(f"{folder} has no weights: neither {WEIGHTS}, nor {INDEX}, nor {PICKLED}.")


def _shards(folder: Path) -> dict[str, torch.Tensor]:
    names = read_object(folder / INDEX).get("weight_map")
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise CheckpointError(f"{folder / INDEX} names no shards.")
    weights: dict[str, torch.Tensor] = {}
    for name in sorted(set(names.values())):
        if Path(name).name != name or name in ("", ".", ".."):
            raise CheckpointError(f"{folder / INDEX} names a file outside of its folder: {name!r}.")
        weights |= read_tensors(folder / name)
    missing = sorted(names.keys() - weights.keys())
    if missing:
        raise CheckpointError(f"{folder} lacks weights that its index names, {missing[0]} among them.")
    return weights


def read_pickled(path: Path) -> dict[str, torch.Tensor]:
    """Return the tensors of a torch file, alone or under "model" in the state of a training."""
    complaint = "holds more than tensors, which is not read, or is damaged"
    try:
        _check_packing(path)
        content = torch.load(path, map_location="cpu", weights_only=True)
        content = content.get("model", content)
    except Exception as error:  # what a broken or hostile file may raise is not to be foreseen
        raise CheckpointError(f"{path} {complaint}.") from error
    if not isinstance(content, dict) or not all(isinstance(each, torch.Tensor) for each in content.values()):
        raise CheckpointError(f"{path} {complaint}.")
    if any(tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes() for tensor in content.values()):
        raise CheckpointError(f"{path} has tensors that are larger than what it holds of them.")
    return content


def _check_packing(path: Path) -> None:
    """Raise ValueError for a file that would unpack to more than it is: PyTorch compresses nothing."""
    with open_regular(path) as file:
        if zipfile.is_zipfile(file):
            with zipfile.ZipFile(file) as archive:
                if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
                    raise ValueError("it is compressed")
