"""A tiny language that a model learns in seconds, the files of a run on it, and its gold alignments."""

import json
import random
from collections.abc import Sequence
from pathlib import Path

from transformer.config import DataConfig, Experiment, ModelConfig, TokenizerConfig, TrainingConfig
from transformer.corpus.alignment.gold import GoldPair

WORDS = {
    "red": "rot",
    "blue": "blau",
    "green": "grün",
    "small": "klein",
    "big": "groß",
    "old": "alt",
    "dog": "Hund",
    "cat": "Katze",
    "house": "Haus",
    "tree": "Baum",
    "car": "Wagen",
    "bird": "Vogel",
}
VOCABULARY = 90


def make_pairs(number: int, seed: int) -> list[tuple[str, str]]:
    """Sentences of 1 to 5 words of a tiny language, each translated word by word."""
    generator = random.Random(seed)
    pairs = []
    for _ in range(number):
        words = generator.choices(list(WORDS), k=generator.randint(1, 5))
        pairs.append((" ".join(words) + ".", " ".join(WORDS[word] for word in words) + "."))
    return pairs


def tiny_experiment(**training) -> Experiment:
    """A configuration that learns the tiny language in seconds."""
    settings = {
        "max_steps": 250,
        "batch_tokens": 400,
        "warmup_steps": 60,
        "rate_factor": 0.35,
        "validate_every": 100,
        "save_every": 50,
        "validate_sentences": 30,
        "average_last": 1,
        "cooldown_steps": 80,
        "join_probability": 0.1,
        "precision": "float32",
    }
    return Experiment(
        model=ModelConfig(
            vocab_size=VOCABULARY,
            num_encoder_layers=2,
            num_decoder_layers=1,
            num_heads=4,
            d_model=48,
            d_ff=80,
            dropout=0.0,
            max_length=24,
        ),
        tokenizer=TokenizerConfig(vocab_size=VOCABULARY),
        training=TrainingConfig(**{**settings, **training}),
        data=DataConfig("Tiny pairs", "Plain", "Schlicht", "CC0", "made up by the tests"),
    )


def write_toml(path: Path, experiment: Experiment) -> Path:
    """The CONFIG.toml of an experiment."""
    lines = []
    for table, settings in experiment.as_dict().items():
        lines.append(f"[{table}]")
        for name, value in settings.items():
            if (table, name) != ("model", "vocab_size"):
                lines.append(f"{name} = {json.dumps(value, ensure_ascii=False)}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_pairs(path: Path, pairs: list[tuple[str, str]]) -> Path:
    """The pairs as TSV."""
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return path


def gold_pair(source: str, target: str) -> GoldPair:
    """A pair of the tiny language, its full stops words of their own, each word linked with the one in its place."""
    words = tuple(tuple(text.replace(".", " .").split()) for text in (source, target))
    links = frozenset((position, position) for position in range(len(words[0])))
    return GoldPair(*words, links, links)


def write_gold(folder: Path, pairs: Sequence[GoldPair]) -> Path:
    """The three files of a gold set."""
    folder.mkdir()
    lines = {
        "source": [" ".join(pair.source) for pair in pairs],
        "target": [" ".join(pair.target) for pair in pairs],
        "links": [
            " ".join(f"{i}{'-' if (i, j) in pair.sure else '?'}{j}" for i, j in sorted(pair.possible)) for pair in pairs
        ],
    }
    for name, texts in lines.items():
        (folder / f"{name}.txt").write_text("".join(f"{text}\n" for text in texts))
    return folder


def tiny_gold(number: int, seed: int) -> list[GoldPair]:
    """So many pairs of the tiny language."""
    return [gold_pair(*pair) for pair in make_pairs(number, seed)]
