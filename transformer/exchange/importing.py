"""A translation model of Hugging Face's transformers as a checkpoint of this program."""

import dataclasses
import re
from collections.abc import Iterable
from pathlib import Path

import torch

from ..checkpoint import Checkpoint, build_model, move_model
from ..config import ModelConfig, Positions
from ..errors import CheckpointError, DownloadError
from ..files import read_object, reading
from ..model.device import choose_device, keep_freed_memory, read_dtype
from ..model.layers import position_table
from ..model.transformer import Transformer
from ..translator import Translator
from ..untrusted import MOST_DESCRIPTION, read_regular
from . import layout, t5_layout
from .converting import NEEDED, TOKENIZER_CONFIG, convert_tokenizer
from .families import T5S, Description, read_description

_CARD = "README.md"
_WEIGHTS = (layout.WEIGHTS, "model-*.safetensors", layout.INDEX, layout.PICKLED)
_POSITIONS_DIFFER = 2e-3  # what half precision may round off a sine
_OFFSET = 2  # rows of BART's tables that no position has (modeling_bart.py, BartLearnedPositionalEmbedding)
# What older files hold besides weights: versions, and M2M100's positions, which are computed.
_NO_WEIGHT = re.compile(r"model\.(en|de)coder\.(version|embed_positions\.(weights|_float_tensor))")


def import_checkpoint(name: str | Path) -> Checkpoint:
    """Read a model of Marian (opus-mt), BART, mBART, Pegasus, M2M100, NLLB, T5 or mT5, a folder in Hugging Face's
    layout or on its hub.

    The tokenizers of all but Marian's models need the extra `import`. No code from the folder is run. Raises
    CheckpointError for missing or damaged files and for other architectures, in a sentence that names the difference,
    and DownloadError where a name of the hub cannot be had.
    """
    folder = Path(name)
    if not folder.is_dir():
        folder = _downloaded(str(name))
    description = read_description(folder)
    config = description.shape()
    tokenizer = convert_tokenizer(description, config)
    config = dataclasses.replace(config, forced_first_token=bool(tokenizer.forced_ids("")))
    stored = layout.read_weights(folder)
    if description.kind in T5S:
        config, weights = _t5_weights(stored, config, folder)
    else:
        weights = _weights(stored, config, folder)
    model = build_model(config, weights, folder, Transformer).eval()
    prefixes = description.prefixes()
    imported = {"type": description.kind, **({"prefixes": prefixes} if prefixes else {})}
    origin = {"data": _origin(Path(name).name, description), "imported": imported}
    return Checkpoint(model, tokenizer, origin)


def import_translator(
    name: str | Path, device: str | torch.device | None = None, dtype: str | torch.dtype | None = None
) -> Translator:
    """Load a model of another library, as `import_checkpoint`, ready to translate.

    device, dtype: as for `Translator.load`. Raises DeviceError where there is no such device.
    """
    chosen, computed_in = choose_device(str(device) if device else None), read_dtype(dtype)
    keep_freed_memory()
    checkpoint = import_checkpoint(name)
    move_model(checkpoint.model, chosen, computed_in)
    return Translator(checkpoint)


def exact_dtype(model: Transformer) -> torch.dtype:
    """Return the smallest type in which a file can hold these weights without changing a number."""
    for dtype in (torch.float16, torch.bfloat16):
        if all(torch.equal(weight.to(dtype).to(weight.dtype), weight) for weight in model.parameters()):
            return dtype
    return torch.float32


def _downloaded(name: str) -> Path:
    """Return the folder of a model of the hub, once it is here."""
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        raise CheckpointError(f"There is no folder {name}; a name on the hub looks like Helsinki-NLP/opus-mt-en-de.")
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        needed = "more packages: pip install 'headlight-transformer[import]'"
        raise DownloadError(f"{name} is no folder here, and fetching it from the hub needs {needed}.") from error
    try:
        return Path(
            snapshot_download(name, allow_patterns=[layout.CONFIG, layout.GENERATION, *NEEDED, _CARD, *_WEIGHTS])
        )
    except Exception as error:  # the hub's library raises its own, its client's and the system's
        raise DownloadError(f"{name} cannot be fetched from the hub: {str(error).splitlines()[0]}") from error


def _weights(stored: dict[str, torch.Tensor], config: ModelConfig, folder: Path) -> dict[str, torch.Tensor]:
    """Rename the weights for this engine; raises CheckpointError where one is missing, left over, or no sinusoid."""
    left = {name: weight for name, weight in stored.items() if not _NO_WEIGHT.fullmatch(name)}
    for alias, name in _aliases(config):
        same = left.pop(alias, None)
        if same is not None and not torch.equal(same, left.setdefault(name, same)):
            raise CheckpointError(f"{folder} has two embeddings: {alias} is not {name}. Only one can be imported.")
    for name in layout.POSITIONS:
        _take_positions(left, config, folder, name)
    learned = config.positions == Positions.LEARNED
    order = torch.arange(config.d_model) if learned else layout.in_turn(config.d_model)
    bias = left.pop(layout.OUTPUT_BIAS, torch.zeros(1, config.output_size)).flatten()
    weights = _renamed(left, layout.parts(config), order, folder)
    return {**weights, "output_projection.bias": bias} if config.output_bias else weights


def _t5_weights(
    stored: dict[str, torch.Tensor], config: ModelConfig, folder: Path
) -> tuple[ModelConfig, dict[str, torch.Tensor]]:
    """Rename the weights of T5's models; whether the output has a matrix of its own, they tell themselves."""
    left = {name: weight for name, weight in stored.items() if name != t5_layout.UNREAD}
    shared = left.get(t5_layout.SHARED)
    for alias in (*t5_layout.ALIASES, t5_layout.OUTPUT):
        same = left.pop(alias, None)
        if same is None:
            continue
        if shared is None:
            shared = left[t5_layout.SHARED] = same
        elif not torch.equal(same, shared):
            if alias != t5_layout.OUTPUT:
                raise CheckpointError(f"{folder} has two embeddings: {alias} is not {t5_layout.SHARED}.")
            config, left[alias] = dataclasses.replace(config, separate_output=True), same
    return config, _renamed(left, t5_layout.t5_parts(config), torch.arange(config.d_model), folder)


def _renamed(
    left: dict[str, torch.Tensor], parts: Iterable[layout.Part], order: torch.Tensor, folder: Path
) -> dict[str, torch.Tensor]:
    """Return the weights by their names here; raises CheckpointError where one is missing or left over."""
    weights = {}
    for part in parts:
        try:
            weights[part.ours] = layout.reordered(torch.cat([left.pop(name) for name in part.theirs]), part, order)
        except KeyError as error:
            raise CheckpointError(f"{folder} lacks the weights {error}.") from error
        except (RuntimeError, IndexError, TypeError) as error:
            message = f"The weights of {part.theirs[0]} in {folder} do not fit its {layout.CONFIG}."
            raise CheckpointError(message) from error
    if left:
        raise CheckpointError(f"{folder} has weights that this engine has no place for: {', '.join(sorted(left)[:3])}.")
    return weights


def _aliases(config: ModelConfig) -> list[tuple[str, str]]:
    """Names under which a matrix stands again, and where it is read from: each user of an embedding may have it."""
    if config.target_vocab_size:
        return [(layout.SHARED, layout.SOURCE_EMBEDDING), (layout.OUTPUT, layout.TARGET_EMBEDDING)]
    return [(name, layout.SHARED) for name in (layout.SOURCE_EMBEDDING, layout.TARGET_EMBEDDING, layout.OUTPUT)]


def _take_positions(left: dict[str, torch.Tensor], config: ModelConfig, folder: Path, name: str) -> None:
    """Cut a learned table to its positions; take a computed one out, which must be what is computed here."""
    table = left.get(name)
    if table is None:
        return
    if config.positions == Positions.LEARNED:
        if table.ndim == 2 and len(table) == config.max_length + _OFFSET:
            left[name] = table[_OFFSET:]
        return
    del left[name]
    fits = table.shape == (config.max_length, config.d_model)
    reordered_table = table.float()[:, layout.in_turn(config.d_model)] if fits else table
    if not fits or not torch.allclose(reordered_table, position_table(config), atol=_POSITIONS_DIFFER):
        raise CheckpointError(f"{folder} has positions of its own: {name} are not the paper's sinusoids.")


def _origin(name: str, description: Description) -> dict[str, str]:
    """Return what is known of the model: its name, its languages, the licence that its card names."""
    folder, stored = description.folder, description.stored.get("_name_or_path")
    data = {"name": stored if isinstance(stored, str) and stored else name}
    languages = read_object(folder / TOKENIZER_CONFIG) if (folder / TOKENIZER_CONFIG).exists() else {}
    for ours, theirs in (("source_language", "source_lang"), ("target_language", "target_lang")):
        if isinstance(languages.get(theirs), str):
            data[ours] = languages[theirs]
    if (folder / _CARD).exists():
        with reading(folder / _CARD, "cannot be read"):
            card = read_regular(folder / _CARD, MOST_DESCRIPTION).decode("utf-8", errors="replace")
        before, header, *_ = [*card.split("---", 2), "", ""]
        licence = re.search(r"^license:[ \t]*([^\s#]+)", header, re.MULTILINE)
        if licence and not before.strip():
            data["licence"] = licence[1]
    return data
