"""A model's folder as Hugging Face lays it out: config.json, and weights in one file or several."""

from pathlib import Path

import torch

from ..errors import CheckpointError
from ..files import read_object, read_tensors

CONFIG, GENERATION = "config.json", "generation_config.json"
WEIGHTS, INDEX, PICKLED = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
)


def read_weights(folder: Path) -> dict[str, torch.Tensor]:
    """All weights by name: of model.safetensors, of its shards, or of pytorch_model.bin, no code of which is run.

    Raises CheckpointError where there are none, a file is damaged, or the index names a file elsewhere.
    """
    if (folder / WEIGHTS).exists():
        return read_tensors(folder / WEIGHTS)
    if (folder / INDEX).exists():
        return _shards(folder)
    if (folder / PICKLED).exists():
        return _pickled(folder / PICKLED)
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


def _pickled(path: Path) -> dict[str, torch.Tensor]:
    complaint = "holds more than tensors, which is not read, or is damaged"
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # what a broken or hostile file may raise is not to be foreseen
        raise CheckpointError(f"{path} {complaint}.") from error
    if not isinstance(content, dict) or not all(isinstance(each, torch.Tensor) for each in content.values()):
        raise CheckpointError(f"{path} {complaint}.")
    return content
