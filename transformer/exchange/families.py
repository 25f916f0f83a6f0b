"""The configuration of a folder in Hugging Face's layout: family, shape, first token and prefixes of tasks."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..config import FeedForwardType, ModelConfig, Norm, NormType, Positions
from ..errors import CheckpointError, ConfigError
from ..files import read_object
from .layout import ACTIVATIONS, CONFIG, GENERATION

_STACKS = ("encoder", "decoder")
_BASE = 10000.0
_COMMON = ("vocab_size", "d_model", "pad_token_id", "decoder_start_token_id", "eos_token_id")
_COMMON_NAMES = dict(zip(("vocab_size", "d_model", "pad_id", "begin_id", "end_id"), _COMMON, strict=True))
_BARTS_NAMES = _COMMON_NAMES | {
    "num_encoder_layers": "encoder_layers",
    "num_decoder_layers": "decoder_layers",
    "num_heads": "encoder_attention_heads",
    "d_ff": "encoder_ffn_dim",
    "dropout": "dropout",
    "max_length": "max_position_embeddings",
    "scale_embeddings": "scale_embedding",
}


@dataclass(frozen=True)
class Family:
    """Common properties of the models of one `model_type`.

    only: settings with a single value that can be imported; otherwise: defaults; config: fields of ModelConfig;
    names: their names for other fields, by ours.
    """

    only: Mapping[str, object]
    otherwise: Mapping[str, object]
    config: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=lambda: dict(_BARTS_NAMES))


_T5S_NAMES = _COMMON_NAMES | {
    "num_encoder_layers": "num_layers",
    "num_decoder_layers": "num_decoder_layers",
    "num_heads": "num_heads",
    "head_size": "d_kv",
    "d_ff": "d_ff",
    "dropout": "dropout_rate",
    "max_length": "n_positions",
    "relative_buckets": "relative_attention_num_buckets",
    "relative_distance": "relative_attention_max_distance",
    "norm_epsilon": "layer_norm_epsilon",
}


def _form(**true: bool) -> Mapping[str, bool]:
    names = ("normalize_before", "normalize_embedding", "add_final_layer_norm", "static_position_embeddings")
    return dict.fromkeys(names, False) | true


_T5 = {
    "positions": Positions.RELATIVE,
    "norm": Norm.PRE,
    "norm_type": NormType.RMS,
    "scale_scores": False,
    "scale_embeddings": False,
    "bias": False,
}
_T5_OTHERWISE = {
    "decoder_start_token_id": 0,
    "pad_token_id": 0,
    "eos_token_id": 1,
    "n_positions": 512,
    "relative_attention_num_buckets": 32,
    "relative_attention_max_distance": 128,
    "layer_norm_epsilon": 1e-6,
    "feed_forward_proj": "relu",
    "dropout_rate": 0.1,
}
_LEARNED = {"positions": Positions.LEARNED, "embedding_norm": True, "output_bias": True}
FAMILIES = {
    "marian": Family(
        only=_form(static_position_embeddings=True),
        otherwise={"activation_function": "gelu", "scale_embedding": False},
        config={"output_bias": True},
    ),
    "bart": Family(
        only=_form(normalize_embedding=True),
        otherwise={"activation_function": "gelu", "scale_embedding": False, "decoder_start_token_id": 2},
        config=_LEARNED,
    ),
    "mbart": Family(
        only=_form(normalize_before=True, normalize_embedding=True, add_final_layer_norm=True),
        otherwise={"activation_function": "gelu", "scale_embedding": False},
        config={**_LEARNED, "norm": Norm.PRE},
    ),
    "m2m_100": Family(
        only={},
        otherwise={"activation_function": "relu", "scale_embedding": True, "decoder_start_token_id": 2},
        config={"norm": Norm.PRE},
    ),
    "pegasus": Family(
        only=_form(normalize_before=True, add_final_layer_norm=True, static_position_embeddings=True),
        otherwise={"activation_function": "gelu", "scale_embedding": False, "decoder_start_token_id": 0},
        config={"norm": Norm.PRE, "output_bias": True},
    ),
    "t5": Family({}, _T5_OTHERWISE, _T5, _T5S_NAMES),
    "mt5": Family({}, {**_T5_OTHERWISE, "feed_forward_proj": "gated-gelu"}, _T5, _T5S_NAMES),
}
T5S = ("t5", "mt5")
_MOST_PREFIX, _MOST_PREFIXES = 200, 50  # characters, and how many are offered


@dataclass(frozen=True)
class Description:
    """A folder's config.json, with what generation_config.json adds: its family, and what it says."""

    folder: Path
    kind: str
    stored: Mapping[str, Any]  # as JSON has it: `ModelConfig` checks what is what

    def shape(self) -> ModelConfig:
        """Return the shape of the model; raises CheckpointError for one that this engine cannot be."""
        self._require_one_form()
        family = FAMILIES[self.kind]
        try:
            return ModelConfig(
                **{ours: self._setting(theirs) for ours, theirs in family.names.items()},
                **family.config,
                **self._feed_forward(),
                **self._positions(),
                **self._vocabularies(),
            )
        except KeyError as error:
            raise CheckpointError(f"{self.folder / CONFIG} does not say {error}.") from error
        except (ConfigError, TypeError) as error:
            raise CheckpointError(f"{self.folder / CONFIG} describes no model: {error}") from error

    def first_token(self) -> int | None:
        """Return the id that a translation is to begin with, where the folder names one (`forced_bos_token_id`)."""
        forced = self.stored.get("forced_bos_token_id")
        if forced is not None and type(forced) is not int:
            raise CheckpointError(f"{self.folder} has forced_bos_token_id = {forced!r}, which is no id.")
        return forced

    def prefixes(self) -> dict[str, str]:
        """Return what texts may begin with to say what is to be done with them, by the tasks' names.

        As `task_specific_params` has them: {"translation_en_to_de": "translate English to German:"}.
        """
        tasks = self.stored.get("task_specific_params")
        prefixes = {name: task.get("prefix") for name, task in _items(tasks) if isinstance(task, dict)}
        sound = {
            str(name): prefix.strip()
            for name, prefix in prefixes.items()
            if isinstance(prefix, str) and prefix.strip() and len(prefix) <= _MOST_PREFIX and prefix.isprintable()
        }
        return dict(list(sound.items())[:_MOST_PREFIXES])

    def _setting(self, name: str) -> Any:
        otherwise: dict[str, Any] = {"dropout": 0.1, **FAMILIES[self.kind].otherwise}
        if self.kind in T5S:
            otherwise["num_decoder_layers"] = self.stored.get("num_layers")
        return {**otherwise, **self.stored}[name]

    def _feed_forward(self) -> dict[str, Any]:
        """Return type and activation of feed-forwards: T5's "gated-gelu" has the newer GELU."""
        activation, kind = self._setting("feed_forward_proj" if self.kind in T5S else "activation_function"), {}
        if self.kind in T5S and isinstance(activation, str):
            gated = activation.startswith("gated-")
            kind = {"feed_forward": FeedForwardType.GATED if gated else FeedForwardType.PLAIN}
            activation = "gelu_new" if activation == "gated-gelu" else activation.removeprefix("gated-")
        if not isinstance(activation, str) or activation not in ACTIVATIONS:
            raise CheckpointError(
                f"{self.folder} has the activation {activation!r}; known are {', '.join(ACTIVATIONS)}."
            )
        return {**kind, "activation": ACTIVATIONS[activation]}

    def _require_one_form(self) -> None:
        for name, only in FAMILIES[self.kind].only.items():
            if self.stored.get(name, only) != only:
                raise CheckpointError(f"{self.folder} has {name} = {self.stored[name]}; only {only} can be imported.")
        for name in ("attention_heads", "ffn_dim"):
            encoder, decoder = (self.stored.get(f"{stack}_{name}") for stack in _STACKS)
            if encoder != decoder:
                raise CheckpointError(
                    f"{self.folder} has {name} of {encoder} in the encoder, {decoder} in the decoder: not alike."
                )

    def _positions(self) -> dict[str, Any]:
        """M2M100's sinusoids fall from 1 to exactly 1 / 10000 over the pairs, which the paper's formula has with a base
        a little larger, and its first token stands after the padding's position (modeling_m2m_100.py)."""
        if self.kind != "m2m_100":
            return {}
        d_model = self._setting("d_model")
        if type(d_model) is not int or d_model < 4:
            raise ConfigError(f"d_model must be at least 4 for its positions, not {d_model!r}.")
        return {
            "position_base": _BASE ** (d_model / (d_model - 2)),
            "first_position": self._setting("pad_token_id") + 1,
        }

    def _vocabularies(self) -> dict[str, Any]:
        shared = self.stored.get("share_encoder_decoder_embeddings", True)
        if self.kind == "t5":  # the first models share their matrix with the output, and scale what it is given
            # transformers 5 says so in a setting of its own, and calls every output tied (configuration_t5.py).
            tied = self.stored.get("tie_word_embeddings") is not False
            return {"scale_output": self.stored.get("scale_decoder_outputs", tied)}
        return {} if self.kind != "marian" or shared else {"target_vocab_size": self._setting("decoder_vocab_size")}


def read_description(folder: Path) -> Description:
    """Return what a folder says of its model; raises CheckpointError for a type that cannot be imported."""
    stored = read_object(folder / CONFIG)
    kind = stored.get("model_type")
    if not isinstance(kind, str) or kind not in FAMILIES:
        known = "Marian's (opus-mt), BART's, mBART's, Pegasus's, M2M100's, of which NLLB is one, and T5's and mT5's"
        raise CheckpointError(f"{folder} is of type {kind!r}; models that can be imported are {known}.")
    generation = read_object(folder / GENERATION) if (folder / GENERATION).exists() else {}
    names = ("pad_token_id", "eos_token_id", "decoder_start_token_id", "forced_bos_token_id")
    more = {name: generation[name] for name in names if name in generation and stored.get(name) is None}
    return Description(folder, kind, {name: value for name, value in (stored | more).items() if value is not None})


def _items(content: object) -> Iterable[tuple[object, object]]:
    return content.items() if isinstance(content, dict) else ()
