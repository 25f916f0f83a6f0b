"""Configurations: accepted and refused values."""

import dataclasses
from pathlib import Path

import pytest
from support.models import small_config
from support.tiny import tiny_experiment, write_toml

from transformer.config import ModelConfig, ReplayConfig, TokenizerConfig, TrainingConfig, load_experiment
from transformer.errors import ConfigError

ROOT = Path(__file__).parents[2]


def test_the_defaults_are_the_papers_base_model():
    config = ModelConfig(vocab_size=37_000)
    assert (config.num_encoder_layers, config.num_decoder_layers, config.num_heads) == (6, 6, 8)
    assert (config.d_model, config.d_ff, config.d_k, config.dropout) == (512, 2048, 64, 0.1)
    assert (TrainingConfig().warmup_steps, TrainingConfig().label_smoothing) == (4000, 0.1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_model": 25}, "d_model must be even"),
        ({"num_heads": 5}, "num_heads must divide d_model: 24 is not a multiple of 5"),
        (
            {"max_length": 8192, "d_model": 65_536, "num_heads": 1, "head_size": 1, "d_ff": 1},
            "max_length times d_model must be at most 33,554,432, not 536,870,912",
        ),
        ({"dropout": 1.0}, r"dropout must be in \[0, 1\), not 1.0"),
        ({"positions": "rotary"}, "positions must be one of sinusoidal, .*, relative, not 'rotary'"),
        ({"num_heads": True}, "num_heads must be int, not True"),
        ({"end_id": 31}, "end_id must be in the vocabulary of 31, not 31"),
        ({"relative_distance": 16}, "more than 16, half of relative_buckets, not 16"),
    ],
)
def test_an_impossible_setting_of_a_model_is_named(changes, message):
    with pytest.raises(ConfigError, match=message):
        small_config(**changes)


def test_an_experiment_survives_its_toml(tmp_path):
    replay = ReplayConfig([["I can't.", "Ça ne va pas."], ["Go!", 'Er sagt: "Los!"']])
    experiment = dataclasses.replace(tiny_experiment(seed=5, compile=False, patience=3), replay=replay)
    assert load_experiment(write_toml(tmp_path / "tiny.toml", experiment)) == experiment
    assert experiment.model.vocab_size == experiment.tokenizer.vocab_size


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.toml")), ids=lambda path: path.name)
def test_every_shipped_configuration_is_valid(path):
    experiment = load_experiment(path)
    assert experiment.data.licence and experiment.data.attribution


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[model", "is not valid TOML"),
        ("[modell]", r"Unknown table \[modell\]"),
        ("[model]\nlayers = 3", r"Unknown setting 'layers' in \[model\]; choose from vocab_size"),
        ("[training]\nmax_steps = 'many'", "max_steps must be int, not 'many'"),
        ("[data]\nname = 'x'", r"\[data\] needs 'source_language'"),
    ],
)
def test_a_mistake_in_a_configuration_file_is_named(tmp_path, text, message):
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_experiment(path)
    path.write_bytes(b"\xff\xfe\x00")
    for other in ("gone.toml", "wrong.toml", "."):
        with pytest.raises(ConfigError, match="There is no configuration|not valid TOML|cannot be read"):
            load_experiment(tmp_path / other)


@pytest.mark.parametrize(
    ("names", "value"),
    [
        ("max_steps batch_tokens warmup_steps validate_every validate_sentences average_last accumulate", 0),
        ("save_every patience", -1),
        ("cooldown_steps", 200_000),
        ("label_smoothing segmentation_dropout", 1.0),
        ("join_probability clip_norm rate_factor", float("nan")),
        ("schedule precision seed compile", "odd"),
    ],
)
def test_an_impossible_setting_of_a_training_is_named(names, value):
    for name in names.split():
        with pytest.raises(ConfigError, match=name):
            TrainingConfig(**{name: value})


def test_impossible_tokenizers_and_probes_are_named():
    for changes in (
        {"vocab_size": 7},
        {"character_coverage": 0.0},
        {"character_coverage": 1.5},
        {"model_type": "word"},
    ):
        with pytest.raises(ConfigError, match=next(iter(changes))):
            TokenizerConfig(**changes)
    for probes in ("red", [["red"]], [["red", 3]], [["red", " "]], {"red": "rot"}):
        with pytest.raises(ConfigError, match="probes must be a list of pairs of texts"):
            ReplayConfig(probes)
