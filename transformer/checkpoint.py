"""A checkpoint on disk: a folder of plain files that anyone can read, and no pickle among them."""

import csv
import dataclasses
import hashlib
import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import torch
from torch.overrides import TorchFunctionMode

from .config import ModelConfig, ModelKind, ReplayConfig, TrainingConfig, build
from .data.tokenizer import TOKENIZER_FILE, TextTokenizer, Tokenizer
from .errors import CheckpointError, ConfigError
from .exchange import SETTINGS, ImportedTokenizer
from .files import (
    load_weights,
    object_bytes,
    read_object,
    reading,
    rounded_to_bytes,
    save_tensors,
    shipped_checkpoints,
    write_atomically,
)
from .model.one_stack import OneStack
from .model.transformer import TokenModel, Transformer
from .untrusted import MOST_DESCRIPTION, open_regular, read_regular

Model = TypeVar("Model", bound=TokenModel)
WEIGHTS_FILE = "model.safetensors"
HISTORY_FILE = "history.csv"
VERSION = 3
LATEST = 4
# Versions that can be read: the second knows Marian's models, the third other libraries' besides, the fourth weights in
# 8 bits and the kind of the model.
VERSIONS = (1, 2, VERSION, LATEST)


@dataclass
class Checkpoint:
    """A model with its tokenizer, what is known of its training, and the course of it.

    `training` holds data, licence, attribution, configuration, steps, seed, device and scores; `history` one dictionary
    a validation, in order.
    """

    model: Transformer
    tokenizer: TextTokenizer
    training: dict = field(default_factory=dict)
    history: list[dict] = field(default_factory=list)

    @property
    def data(self) -> dict[str, str]:
        """Texts of `training` about the corpus: name, languages, licence, attribution."""
        return data_of(self.training)

    @property
    def bleu(self) -> dict[str, float]:
        """BLEU in `training`, by test set and decoding."""
        scores = {name: _object(score).get("bleu") for name, score in _object(self.training, "scores").items()}
        return {name: bleu for name, bleu in scores.items() if isinstance(bleu, float)}

    @property
    def probes(self) -> list[tuple[str, str]]:
        """Pairs of source and target in the training replay; empty where `training` has none."""
        replay = self._recorded(ReplayConfig, "replay")
        return list(replay.probes) if replay else []

    @property
    def prefixes(self) -> dict[str, str]:
        """Prefixes of a text for each task of an imported model, by the task's name."""
        prefixes = _object(self.training, "imported", "prefixes")
        return {name: prefix for name, prefix in prefixes.items() if isinstance(prefix, str) and prefix.strip()}

    def settings(self, *needed: str) -> TrainingConfig | None:
        """Return the settings of the training; None where a `needed` one is missing or one is invalid."""
        return self._recorded(TrainingConfig, "training", *needed)

    def _recorded(self, kind: type, table: str, *needed: str):
        """Return a table of the configuration in `training`, as a `kind`; None where it is incomplete or invalid."""
        recorded = _object(self.training, "configuration", table)
        if not recorded or not recorded.keys() >= set(needed):
            return None
        try:
            return build(kind, recorded, table)
        except ConfigError:
            return None

    def add_score(self, folder: Path, pairs: str, decoding: str, score: dict) -> None:
        """Add the score of these pairs under this decoding ("greedy", "beam 5") to the training.json in `folder`."""
        key = f"{pairs} {decoding}"
        self.training["scores"] = {**_object(self.training, "scores"), key: score}
        write_atomically(Path(folder) / "training.json", object_bytes(self.training))


@dataclass
class OneStackCheckpoint(Checkpoint):
    """A checkpoint whose model is one stack."""

    model: OneStack  # type: ignore[assignment]


def data_of(training: dict) -> dict[str, str]:
    """Return the texts about the corpus in the content of a training.json."""
    return {name: value for name, value in _object(training, "data").items() if isinstance(value, str)}


def _object(content: object, *names: str) -> dict:
    """Return the object under these nested names in content of unknown origin; an empty one where there is none."""
    for name in names:
        content = content.get(name) if isinstance(content, dict) else None
    return content if isinstance(content, dict) else {}


def save_checkpoint(folder: Path, checkpoint: Checkpoint, dtype: torch.dtype = torch.float16) -> None:
    """Write all files of a checkpoint, each in one piece, the weights rounded to `dtype`.

    dtype: torch.int8 for matrices of 8 bits with a scale per row, see `rounded_to_bytes`.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    kind = ModelKind.ONE_STACK if isinstance(checkpoint, OneStackCheckpoint) else ModelKind.ENCODER_DECODER
    weights = {name: each.detach().cpu() for name, each in checkpoint.model.named_parameters()}
    if dtype == torch.int8:
        weights = rounded_to_bytes(weights)
    else:
        weights = {name: weight.to(dtype) for name, weight in weights.items()}
    config: dict[str, object] = {"version": VERSION, "model": dataclasses.asdict(checkpoint.model.config)}
    if dtype == torch.int8 or kind is not ModelKind.ENCODER_DECODER:
        config |= {"version": LATEST, "kind": kind}
    for name, content in checkpoint.tokenizer.files.items():
        write_atomically(folder / name, content)
    write_atomically(folder / "config.json", object_bytes(config))
    write_atomically(folder / "training.json", object_bytes(checkpoint.training))
    save_history(folder, checkpoint.history)
    save_tensors(folder / WEIGHTS_FILE, weights)


def save_history(folder: Path, history: list[dict]) -> None:
    """Write the course of a training run, one validation a line."""
    write_atomically(Path(folder) / HISTORY_FILE, _csv(history))


def locate(name: str | Path) -> Path:
    """Return the folder of this path, else the shipped checkpoint of this name, else the path unchanged."""
    folder, shipped = Path(name), shipped_checkpoints() / name
    named = folder.name == str(name) and not folder.is_dir() and (shipped / "config.json").is_file()
    return shipped if named else folder


def load_checkpoint(folder: Path, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32) -> Checkpoint:
    """Read a checkpoint folder into a model in eval mode, in `dtype` on `device`.

    Raises CheckpointError, one sentence, when a file is missing or damaged, the version is another, the model is one
    stack, or the weights' names and shapes are not those of the configuration.
    """
    if model_kind(Path(folder)) is ModelKind.ONE_STACK:
        raise CheckpointError(
            f"{folder} is one stack, without an encoder: only `hl.load` and the view “one stack” on the page Inside "
            "use it. Everything else needs an encoder and a decoder, such as en-de."
        )
    return Checkpoint(*_load(Path(folder), Transformer, device, dtype))


def load_one_stack(folder: Path, device: torch.device | str = "cpu") -> OneStackCheckpoint:
    """Read a checkpoint of one stack, in float32; raises CheckpointError as `load_checkpoint`, and for another kind."""
    if folder.is_dir() and model_kind(folder) is not ModelKind.ONE_STACK:
        raise CheckpointError(f"{folder} has an encoder and a decoder: it is not one stack.")
    return OneStackCheckpoint(*_load(folder, OneStack, device, torch.float32))


def model_kind(folder: Path) -> ModelKind:
    """Return the kind of a checkpoint's model, encoder-decoder where its config.json is unreadable or names none."""
    try:
        kind = read_object(folder / "config.json").get("kind")
    except CheckpointError:
        kind = None
    return ModelKind.ONE_STACK if kind == ModelKind.ONE_STACK else ModelKind.ENCODER_DECODER


def _load(
    folder: Path, model_class: type[Model], device: torch.device | str, dtype: torch.dtype
) -> tuple[Model, TextTokenizer, dict, list[dict]]:
    """Return the fields of a checkpoint whose model is of this class."""
    if not folder.is_dir():
        raise CheckpointError(f"There is no checkpoint folder {folder}{_shipped_names()}.")
    stored = read_object(folder / "config.json")
    if stored.get("version") not in VERSIONS:
        known = " and ".join(map(str, VERSIONS))
        raise CheckpointError(f"{folder} is of version {stored.get('version')}; this program reads versions {known}.")
    try:
        config = build(ModelConfig, stored.get("model"), "model")
    except ConfigError as error:
        raise CheckpointError(f"{folder / 'config.json'} describes no model: {error}") from error
    tokenizer = _load_tokenizer(folder, config)
    special = (tokenizer.pad_id, tokenizer.begin_id, tokenizer.end_id)
    fits = (len(tokenizer), tokenizer.target_size) == (config.vocab_size, config.output_size)
    if not fits or special != (config.pad_id, config.begin_id, config.end_id):
        raise CheckpointError(
            f"The tokenizer in {folder} has {len(tokenizer)} pieces and special tokens {special}; "
            f"the model wants {config.vocab_size} and {(config.pad_id, config.begin_id, config.end_id)}."
        )
    model = move_model(build_model(config, load_weights(folder / WEIGHTS_FILE), folder, model_class), device, dtype)
    return model, tokenizer, read_object(folder / "training.json"), _read_history(folder / HISTORY_FILE)


def _shipped_names() -> str:
    """Return the end of a message about a missing folder: "; those of these names are shipped: en-de, en-fr"."""
    names = [path.name for path in find_checkpoints(shipped_checkpoints())]
    return f"; those of these names are shipped: {', '.join(names)}" if names else ""


def move_model(model: Model, device: torch.device | str, dtype: torch.dtype = torch.float32) -> Model:
    """Move a model to a device, in a type, and put it in eval mode; returns it."""
    return model.to(device, dtype).eval()


def build_model(
    config: ModelConfig,
    weights: dict[str, torch.Tensor],
    folder: Path,
    model_class: type[Model] = Transformer,  # type: ignore[assignment]
) -> Model:
    """Return a model of this shape with exactly these weights; names and shapes are compared before memory is taken.

    Raises CheckpointError, naming the `folder` that they came from.
    """
    with torch.device("meta"), _Uninitialised():
        expected = {name: tuple(p.shape) for name, p in model_class(config).named_parameters()}
    actual = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    for name in sorted(expected.keys() | actual.keys()):
        if expected.get(name) != actual.get(name):
            raise CheckpointError(
                f"The weights in {folder} do not fit its config.json: {name} should be "
                f"{_shape_text(expected.get(name))} and is {_shape_text(actual.get(name))}."
            )
    if not all(tensor.is_floating_point() and tensor.float().isfinite().all() for tensor in weights.values()):
        raise CheckpointError(f"The weights in {folder} hold values that are not finite numbers.")
    with _Uninitialised():
        model = model_class(config)
    model.set_weights(weights)
    return model


def weights_digest(folder: Path) -> str:
    """Return the SHA-256 of a checkpoint's weights, in hexadecimal: two with the same compute the same.

    Raises CheckpointError where there are none.
    """
    path = Path(folder) / WEIGHTS_FILE
    with reading(path, "cannot be read"), open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def note_training(folder: Path, name: str, value: object) -> None:
    """Add a fact to the training.json in a checkpoint's folder; raises CheckpointError when there is none."""
    path = Path(folder) / "training.json"
    write_atomically(path, object_bytes({**read_object(path), name: value}))


def find_checkpoints(folder: Path, kind: ModelKind = ModelKind.ENCODER_DECODER) -> list[Path]:
    """Return the folders of checkpoints of a kind directly under `folder`, by name; empty when there is none."""
    folders = sorted(path.parent for path in Path(folder).glob("*/config.json"))
    return [path for path in folders if model_kind(path) is kind]


def _load_tokenizer(folder: Path, config: ModelConfig) -> TextTokenizer:
    if (folder / SETTINGS).exists():
        return ImportedTokenizer.load(folder, config.begin_id)
    return Tokenizer.load(folder / TOKENIZER_FILE)


class _Uninitialised(TorchFunctionMode):
    """Mode in which modules leave new tensors uninitialised instead of drawing random values.

    Drawing from a normal distribution on the meta device would import PyTorch's whole compiler, 1.5 seconds of it.
    """

    def __torch_function__(self, function, types, arguments=(), options=None):
        options = options or {}
        if function.__name__ in ("normal_", "uniform_", "kaiming_uniform_"):  # the last draws out of this one's sight
            return arguments[0] if arguments else options["tensor"]
        return function(*arguments, **options)


def _shape_text(shape: tuple[int, ...] | None) -> str:
    return "absent" if shape is None else " x ".join(map(str, shape))


def _read_history(path: Path) -> list[dict]:
    with reading(path, "is not a table of numbers", ValueError, TypeError, csv.Error):
        rows = csv.DictReader(io.StringIO(read_regular(path, MOST_DESCRIPTION).decode("utf-8"), newline=""))
        return [{name: float(value) for name, value in row.items()} for row in rows]


def _csv(rows: list[dict]) -> bytes:
    if not rows:
        return b""
    texts = ([f"{value:.6g}" if isinstance(value, float) else str(value) for value in row.values()] for row in rows)
    return "".join(",".join(line) + "\n" for line in (rows[0], *texts)).encode()
