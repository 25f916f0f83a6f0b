"""What the app computes once and shares: the only cached functions. Everything they return is read-only."""

from pathlib import Path

import streamlit as st

from transformer import Translator
from transformer.checkpoint import find_checkpoints
from transformer.trace import Trace
from transformer.translator import Strategy

CHECKPOINTS = Path(__file__).parent / "checkpoints"
_FILES = ("config.json", "model.safetensors", "tokenizer.model", "training.json")


def checkpoint_names() -> list[str]:
    """Names of the checkpoint folders, those that are there now."""
    return [path.name for path in find_checkpoints(CHECKPOINTS)]


def translator(name: str) -> Translator:
    """The translator of a checkpoint, shared by all visitors; raises UserError. A retrained one is read anew."""
    return _load(str(CHECKPOINTS / name), _stamps(name))


def trace(name: str, text: str, strategy: Strategy) -> Trace:
    """The trace of a text, shared by all who ask for the same; raises UserError."""
    return _trace(str(CHECKPOINTS / name), _stamps(name), text, strategy, translator(name))


@st.cache_resource(max_entries=4, show_spinner="Reading the checkpoint …")
def _load(folder: str, stamps: tuple[int, ...]) -> Translator:
    return Translator.load(folder)


@st.cache_resource(max_entries=32, show_spinner="Translating …")
def _trace(folder: str, stamps: tuple[int, ...], text: str, strategy: Strategy, _translator: Translator) -> Trace:
    return _translator.trace(text, strategy=strategy)


def _stamps(name: str) -> tuple[int, ...]:
    """When each file of a checkpoint was last written, 0 where it is missing: caches are valid for these alone."""
    return tuple(_stamp(CHECKPOINTS / name / file) for file in _FILES)


def _stamp(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
