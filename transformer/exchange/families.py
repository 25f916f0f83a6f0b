"""The configurations of Hugging Face's models that this engine can be: Marian, BART, mBART, M2M100 and NLLB."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..config import ModelConfig, Norm, Positions
from ..errors import CheckpointError, ConfigError
from ..files import read_object
from .folder import CONFIG, GENERATION
from .layout import ACTIVATIONS

_STACKS = ("encoder", "decoder")
_BASE = 10000.0


@dataclass(frozen=True)
class Family:
    """What the models of one `model_type` have alike. `only`: what a configuration may say only so, since neither
    transformers nor this engine has another form of it; `otherwise`: what holds where it says nothing."""

    only: Mapping[str, object]
    otherwise: Mapping[str, object]
    config: Mapping[str, Any] = field(default_factory=dict)


_LEARNED = {"positions": Positions.LEARNED, "embedding_norm": True, "output_bias": True}
FAMILIES = {
    "marian": Family(
        only={
            "normalize_before": False,
            "normalize_embedding": False,
            "add_final_layer_norm": False,
            "static_position_embeddings": True,
        },
        otherwise={"activation_function": "gelu", "scale_embedding": False},
        config={"output_bias": True},
    ),
    "bart": Family(
        only={
            "normalize_before": False,
            "normalize_embedding": True,
            "add_final_layer_norm": False,
            "static_position_embeddings": False,
        },
        otherwise={"activation_function": "gelu", "scale_embedding": False, "decoder_start_token_id": 2},
        config=_LEARNED,
    ),
    "mbart": Family(
        only={
            "normalize_before": True,
            "normalize_embedding": True,
            "add_final_layer_norm": True,
            "static_position_embeddings": False,
        },
        otherwise={"activation_function": "gelu", "scale_embedding": False},
        config={**_LEARNED, "norm": Norm.PRE},
    ),
    "m2m_100": Family(
        only={},
        otherwise={"activation_function": "relu", "scale_embedding": True, "decoder_start_token_id": 2},
        config={"norm": Norm.PRE},
    ),
}


@dataclass(frozen=True)
class Description:
    """A folder's config.json, with what generation_config.json adds: its family, and what it says."""

    folder: Path
    kind: str
    stored: Mapping[str, Any]  # as JSON has it: `ModelConfig` checks what is what

    def shape(self) -> ModelConfig:
        """The shape of the model; raises CheckpointError for one that this engine cannot be."""
        self._require_one_form()
        family = FAMILIES[self.kind]
        activation = self._said("activation_function")
        if not isinstance(activation, str) or activation not in ACTIVATIONS:
            raise CheckpointError(
                f"{self.folder} has the activation {activation!r}; known are {', '.join(ACTIVATIONS)}."
            )
        try:
            return ModelConfig(
                vocab_size=self._said("vocab_size"),
                num_encoder_layers=self._said("encoder_layers"),
                num_decoder_layers=self._said("decoder_layers"),
                num_heads=self._said("encoder_attention_heads"),
                d_model=self._said("d_model"),
                d_ff=self._said("encoder_ffn_dim"),
                dropout=self.stored.get("dropout", 0.1),
                max_length=self._said("max_position_embeddings"),
                activation=ACTIVATIONS[activation],
                scale_embeddings=self._said("scale_embedding"),
                pad_id=self._said("pad_token_id"),
                begin_id=self._said("decoder_start_token_id"),
                end_id=self._said("eos_token_id"),
                **family.config,
                **self._positions(),
                **self._vocabularies(),
            )
        except KeyError as error:
            raise CheckpointError(f"{self.folder / CONFIG} does not say {error}.") from error
        except (ConfigError, TypeError) as error:
            raise CheckpointError(f"{self.folder / CONFIG} describes no model: {error}") from error

    def first_token(self) -> int | None:
        """The id that a translation is to begin with, where the folder names one (`forced_bos_token_id`)."""
        forced = self.stored.get("forced_bos_token_id")
        if forced is not None and type(forced) is not int:
            raise CheckpointError(f"{self.folder} has forced_bos_token_id = {forced!r}, which is no id.")
        return forced

    def _said(self, name: str) -> Any:
        return {**FAMILIES[self.kind].otherwise, **self.stored}[name]

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
        d_model = self._said("d_model")
        if type(d_model) is not int or d_model < 4:
            raise ConfigError(f"d_model must be at least 4 for its positions, not {d_model!r}.")
        return {"position_base": _BASE ** (d_model / (d_model - 2)), "first_position": self._said("pad_token_id") + 1}

    def _vocabularies(self) -> dict[str, Any]:
        shared = self.stored.get("share_encoder_decoder_embeddings", True)
        return {} if self.kind != "marian" or shared else {"target_vocab_size": self._said("decoder_vocab_size")}


def read_description(folder: Path) -> Description:
    """What a folder says of its model; raises CheckpointError for a type that cannot be imported."""
    stored = read_object(folder / CONFIG)
    kind = stored.get("model_type")
    if not isinstance(kind, str) or kind not in FAMILIES:
        known = "Marian's (opus-mt), BART's, mBART's, and M2M100's, of which NLLB is one"
        raise CheckpointError(f"{folder} is of type {kind!r}; models that can be imported are {known}.")
    generation = read_object(folder / GENERATION) if (folder / GENERATION).exists() else {}
    names = ("pad_token_id", "eos_token_id", "decoder_start_token_id", "forced_bos_token_id")
    more = {name: generation[name] for name in names if name in generation and stored.get(name) is None}
    return Description(folder, kind, {name: value for name, value in (stored | more).items() if value is not None})
