"""Configurations: what is accepted, and what is said of the rest."""

import dataclasses
from pathlib import Path

import pytest
from support.models import small_config
from support.tiny import tiny_experiment, write_toml

from transformer.config import (
    DataConfig,
    ModelConfig,
    ReplayConfig,
    TokenizerConfig,
    TrainingConfig,
    load_experiment,
)
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
        ({"num_heads": 0}, "num_heads must be between 1 and"),
        ({"num_encoder_layers": 0}, "num_encoder_layers must be between 1 and 100, not 0"),
        ({"num_decoder_layers": 10**30}, "num_decoder_layers must be between"),
        ({"d_ff": 10**12}, "d_ff must be between"),
        ({"max_length": 1}, "max_length must be between 2 and"),
        (
            {"max_length": 8192, "d_model": 65_536, "num_heads": 1, "head_size": 1, "d_ff": 1},
            "max_length times d_model must be at most 33,554,432, not 536,870,912",
        ),
        ({"vocab_size": -5}, "vocab_size must be between"),
        ({"dropout": 1.0}, r"dropout must be in \[0, 1\), not 1.0"),
        ({"dropout": float("nan")}, "dropout must be in"),
        ({"dropout": "0.1"}, "dropout must be float, not '0.1'"),
        ({"norm": "middle"}, "norm must be one of post, pre, not 'middle'"),
        ({"positions": "rotary"}, "positions must be one of sinusoidal, .*, relative, not 'rotary'"),
        ({"d_model": 24.0}, "d_model must be int, not 24.0"),
        ({"num_heads": True}, "num_heads must be int, not True"),
        ({"share_embeddings": 1}, "share_embeddings must be bool, not 1"),
        ({"end_id": 31}, "end_id must be in the vocabulary of 31, not 31"),
        ({"pad_id": -1}, "pad_id must be in the vocabulary"),
    ],
)
def test_a_model_that_cannot_be_is_refused_with_its_setting_named(changes, message):
    with pytest.raises(ConfigError, match=message):
        small_config(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"max_steps": 0},
        {"batch_tokens": 0},
        {"warmup_steps": 0},
        {"validate_every": 0},
        {"save_every": -1},
        {"average_last": 0},
        {"validate_sentences": 0},
        {"cooldown_steps": 200_000},
        {"schedule": "cosine"},
        {"precision": "float16"},
        {"label_smoothing": 1.0},
        {"rate_factor": 0.0},
        {"clip_norm": float("nan")},
        {"join_probability": 1.1},
        {"segmentation_dropout": 1.0},
        {"segmentation_dropout": -0.1},
        {"seed": "one"},
        {"compile": 1},
        {"accumulate": 0},
        {"patience": -1},
    ],
)
def test_a_training_that_cannot_be_is_refused_with_its_setting_named(changes):
    with pytest.raises(ConfigError, match=next(iter(changes))):
        TrainingConfig(**changes)


@pytest.mark.parametrize("changes", [{"vocab_size": 7}, {"character_coverage": 0.0}, {"character_coverage": 1.5}])
def test_a_tokenizer_that_cannot_be_is_refused(changes):
    with pytest.raises(ConfigError, match=next(iter(changes))):
        TokenizerConfig(**changes)


def test_configurations_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        small_config().d_model = 8


def test_an_experiment_survives_its_toml(tmp_path):
    replay = ReplayConfig([["I can't.", "Ça ne va pas."], ["Go!", 'Er sagt: "Los!"']])
    experiment = dataclasses.replace(tiny_experiment(seed=5, compile=False, patience=3), replay=replay)
    assert load_experiment(write_toml(tmp_path / "tiny.toml", experiment)) == experiment


def test_the_models_vocabulary_is_the_tokenizers(tmp_path):
    experiment = load_experiment(write_toml(tmp_path / "tiny.toml", tiny_experiment()))
    assert experiment.model.vocab_size == experiment.tokenizer.vocab_size == 90


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.toml")), ids=lambda path: path.name)
def test_every_shipped_configuration_is_valid(path):
    experiment = load_experiment(path)
    assert experiment.data.licence and experiment.data.attribution


def test_there_are_shipped_configurations():
    assert (ROOT / "configs" / "en-de.toml").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[model", "is not valid TOML"),
        ("[modell]", r"Unknown table \[modell\]"),
        ("[model]\nlayers = 3", r"Unknown setting 'layers' in \[model\]; choose from vocab_size"),
        ("model = 3", "must be a table"),
        ("[training]\nmax_steps = 'many'", "max_steps must be int, not 'many'"),
        ("[replay]\nprobe = []", r"Unknown setting 'probe' in \[replay\]"),
        ("[data]\nname = 'x'", r"\[data\] needs 'source_language'"),
        ("", r"\[data\] needs 'name'"),
    ],
)
def test_a_configuration_file_with_a_mistake_says_which(tmp_path, text, message):
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_experiment(path)


def test_unreadable_configuration_files_are_named(tmp_path):
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    for name, message in [
        ("gone.toml", "There is no configuration"),
        ("binary.toml", "not valid TOML"),
        (".", "cannot be read"),
    ]:
        with pytest.raises(ConfigError, match=message):
            load_experiment(tmp_path / name)


def test_data_says_all_of_where_it_comes_from():
    assert [field.name for field in dataclasses.fields(DataConfig)] == [
        "name",
        "source_language",
        "target_language",
        "licence",
        "attribution",
    ]
