"""A translation model of Hugging Face's transformers as a checkpoint of this program."""

import re
from pathlib import Path

import torch

from ..checkpoint import Checkpoint, build_model
from ..config import ModelConfig
from ..data.marian_tokenizer import MARIAN_FILES, MarianTokenizer
from ..errors import CheckpointError, ConfigError, DownloadError
from ..files import read_object
from ..model.layers import sinusoidal_positions
from ..model.transformer import Transformer
from .folder import CONFIG, INDEX, PICKLED, WEIGHTS, read_weights
from .marian_layout import ACTIVATIONS, ALIASES, OUTPUT_BIAS, POSITIONS, SHARED, in_turn, parts, reordered

_TOKENIZER_CONFIG, _CARD = "tokenizer_config.json", "README.md"
_NEEDED = (CONFIG, *MARIAN_FILES, _TOKENIZER_CONFIG, _CARD)
_WEIGHTS = (WEIGHTS, "model-*.safetensors", INDEX, PICKLED)
_POSITIONS_DIFFER = 2e-3  # what half precision may round off a sine
# What a Marian configuration may say only so; the engine has no other form of it.
_ONLY = {
    "normalize_before": False,
    "normalize_embedding": False,
    "add_final_layer_norm": False,
    "static_position_embeddings": True,
    "share_encoder_decoder_embeddings": True,
}


def import_checkpoint(name: str | Path) -> Checkpoint:
    """A Marian model, such as any of Helsinki-NLP's opus-mt, from a folder in Hugging Face's layout or from its hub.

    Nothing of transformers is needed, and no code that comes with the weights is run. Raises CheckpointError for what
    is missing, damaged or another architecture, in a sentence that says what differs, and DownloadError where a name
    of the hub cannot be had.
    """
    folder = Path(name)
    if not folder.is_dir():
        folder = _downloaded(str(name))
    stored = read_object(folder / CONFIG)
    config = _configuration(stored, folder)
    tokenizer = MarianTokenizer.load(folder, config.begin_id)
    special = (tokenizer.pad_id, tokenizer.end_id)
    if len(tokenizer) != config.vocab_size or special != (config.pad_id, config.end_id):
        raise CheckpointError(
            f"The vocabulary in {folder} has {len(tokenizer)} pieces, padding {special[0]} and end {special[1]}; its "
            f"{CONFIG} says {config.vocab_size}, {config.pad_id} and {config.end_id}."
        )
    model = build_model(config, _weights(read_weights(folder), config, folder), folder).eval()
    return Checkpoint(
        model, tokenizer, {"data": _origin(Path(name).name, folder, stored), "imported": {"type": "marian"}}
    )


def exact_dtype(model: Transformer) -> torch.dtype:
    """The smallest type in which a file can hold these weights without changing a number."""
    for dtype in (torch.float16, torch.bfloat16):
        if all(torch.equal(weight.to(dtype).to(weight.dtype), weight) for weight in model.parameters()):
            return dtype
    return torch.float32


def _downloaded(name: str) -> Path:
    """The folder of a model of the hub, once it is here."""
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        raise CheckpointError(f"There is no folder {name}; a name on the hub looks like Helsinki-NLP/opus-mt-en-de.")
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        needed = "one more package: pip install huggingface_hub"
        raise DownloadError(f"{name} is no folder here, and fetching it from the hub needs {needed}.") from error
    try:
        return Path(snapshot_download(name, allow_patterns=[*_NEEDED, *_WEIGHTS]))
    except Exception as error:  # the hub's library raises its own, its client's and the system's
        raise DownloadError(f"{name} cannot be fetched from the hub: {str(error).splitlines()[0]}") from error


def _configuration(stored: dict, folder: Path) -> ModelConfig:
    """The shape of the model; raises CheckpointError for one that this engine cannot be."""
    kind = stored.get("model_type")
    if kind != "marian":
        raise CheckpointError(f"{folder} is of type {kind!r}; only Marian's models, such as opus-mt, can be imported.")
    for name, only in _ONLY.items():
        if stored.get(name, only) != only:
            raise CheckpointError(f"{folder} has {name} = {stored[name]}; only {only} can be imported.")
    for name in ("attention_heads", "ffn_dim"):
        encoder, decoder = (stored.get(f"{stack}_{name}") for stack in ("encoder", "decoder"))
        if encoder != decoder:
            raise CheckpointError(
                f"{folder} has {name} of {encoder} in the encoder, {decoder} in the decoder: not alike."
            )
    activation = stored.get("activation_function", "gelu")
    if not isinstance(activation, str) or activation not in ACTIVATIONS:
        raise CheckpointError(f"{folder} has the activation {activation!r}; known are {', '.join(ACTIVATIONS)}.")
    try:
        return ModelConfig(
            vocab_size=stored["vocab_size"],
            num_encoder_layers=stored["encoder_layers"],
            num_decoder_layers=stored["decoder_layers"],
            num_heads=stored["encoder_attention_heads"],
            d_model=stored["d_model"],
            d_ff=stored["encoder_ffn_dim"],
            dropout=stored.get("dropout", 0.1),
            max_length=stored["max_position_embeddings"],
            activation=ACTIVATIONS[activation],
            scale_embeddings=stored.get("scale_embedding", False),
            output_bias=True,
            pad_id=stored["pad_token_id"],
            begin_id=stored["decoder_start_token_id"],
            end_id=stored["eos_token_id"],
        )
    except KeyError as error:
        raise CheckpointError(f"{folder / CONFIG} does not say {error}.") from error
    except ConfigError as error:
        raise CheckpointError(f"{folder / CONFIG} describes no model: {error}") from error


def _weights(found: dict[str, torch.Tensor], config: ModelConfig, folder: Path) -> dict[str, torch.Tensor]:
    """The weights under this engine's names; raises CheckpointError where one is missing, left over, or no sinusoid."""
    left = dict(found)
    for name in ALIASES:
        alias = left.pop(name, None)
        if alias is not None and not torch.equal(alias, left.setdefault(SHARED, alias)):
            raise CheckpointError(f"{folder} has two embeddings: {name} is not {SHARED}. Only one can be imported.")
    for name in POSITIONS:
        _check_positions(left.pop(name, None), config, folder, name)
    order, weights = in_turn(config.d_model), {}
    try:
        for part in parts(config):
            weights[part.ours] = reordered(torch.cat([left.pop(name) for name in part.theirs]), part, order)
        weights["output_projection.bias"] = left.pop(OUTPUT_BIAS, torch.zeros(1, config.vocab_size)).flatten()
    except KeyError as error:
        raise CheckpointError(f"{folder} lacks the weights {error}.") from error
    except (RuntimeError, IndexError, TypeError) as error:
        raise CheckpointError(f"The weights of {part.theirs[0]} in {folder} do not fit its {CONFIG}.") from error
    if left:
        raise CheckpointError(f"{folder} has weights that this engine has no place for: {', '.join(sorted(left)[:3])}.")
    return weights


def _check_positions(table: torch.Tensor | None, config: ModelConfig, folder: Path, name: str) -> None:
    if table is None:
        return
    if table.shape == (config.max_length, config.d_model):
        sinusoids = sinusoidal_positions(*table.shape)
        if torch.allclose(table.float()[:, in_turn(config.d_model)], sinusoids, atol=_POSITIONS_DIFFER):
            return
    raise CheckpointError(f"{folder} has positions of its own: {name} are not the paper's sinusoids.")


def _origin(name: str, folder: Path, stored: dict) -> dict[str, str]:
    """What is known of the model: its name, its languages, the licence that its card names."""
    said = stored.get("_name_or_path")
    data = {"name": said if isinstance(said, str) and said else name}
    languages = read_object(folder / _TOKENIZER_CONFIG) if (folder / _TOKENIZER_CONFIG).exists() else {}
    for ours, theirs in (("source_language", "source_lang"), ("target_language", "target_lang")):
        if isinstance(languages.get(theirs), str):
            data[ours] = languages[theirs]
    if (folder / _CARD).exists():
        card = (folder / _CARD).read_text(encoding="utf-8", errors="replace")
        before, header, *_ = [*card.split("---", 2), "", ""]
        licence = re.search(r"^license:[ \t]*([^\s#]+)", header, re.MULTILINE)
        if licence and not before.strip():
            data["licence"] = licence[1]
    return data
