"""Texts of the blocks of the diagram: block_texts.toml has those of the paper's model and the variants of others."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from headlight.plots.architecture import ACTIVATION_NAMES
from transformer.config import Activation, ModelConfig

_GATES = {Activation.GELU: r"\Phi", Activation.GELU_NEW: r"\Phi", Activation.SILU: r"\sigma"}


@dataclass(frozen=True)
class BlockText:
    """A kind of block: its label in the diagram, title, formula in LaTeX, meaning, and place in the paper."""

    label: str
    title: str
    formula: str
    meaning: str
    source: str


@cache
def _texts() -> dict:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def block_text(kind: str, config: ModelConfig) -> BlockText:
    """Return the text of a kind of block for a model of this configuration."""
    fields = {name: value for name, value in _texts()[kind].items() if name != "variants"}
    for variant in _texts()[kind].get("variants", ()):
        if not _has(config, variant["when"]) or ("unless" in variant and _has(config, variant["unless"])):
            continue
        fields |= variant.get("set", {})
        for part, new in variant.get("parts", {}).items():
            fields |= {name: fields[name].replace(part, new) for name in ("label", "title", "formula")}
        fields |= {name: fields[name] + more for name, more in variant.get("more", {}).items()}
    for mark, value in _replacements(config).items():
        fields = {name: text.replace(mark, value) for name, text in fields.items()}
    return BlockText(**fields)


def _has(config: ModelConfig, allowed: Mapping[str, list]) -> bool:
    return all(getattr(config, name) in values for name, values in allowed.items())


def _replacements(config: ModelConfig) -> dict[str, str]:
    return {
        "NAME": ACTIVATION_NAMES[config.activation],
        "GATE": _GATES.get(config.activation, ""),
        "BASE": f"{config.position_base:.1f}",
        "FIRST": str(config.first_position),
    }
