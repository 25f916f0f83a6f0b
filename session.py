"""What the app computes once and shares: the only cached functions. Everything they return is read-only."""

from pathlib import Path

import streamlit as st

from transformer import Translator
from transformer.checkpoint import find_checkpoints
from transformer.trace import Trace
from transformer.translator import Strategy

CHECKPOINTS = Path(__file__).parent / "checkpoints"


def checkpoint_names() -> list[str]:
    """Names of the checkpoint folders, those that are there now."""
    return [path.name for path in find_checkpoints(CHECKPOINTS)]


def translator(name: str) -> Translator:
    """The translator of a checkpoint, shared by all visitors; raises UserError. A retrained one is read anew."""
    folder = CHECKPOINTS / name
    stamps = [path.stat().st_mtime_ns for path in sorted(folder.iterdir()) if path.is_file()]
    return _load(name, tuple(stamps))


def trace(name: str, text: str, strategy: Strategy) -> Trace:
    """The trace of a text, shared by all who ask for the same; raises UserError."""
    loaded = translator(name)
    return _trace(id(loaded), loaded, text, strategy)


@st.cache_resource(max_entries=4, show_spinner="Reading the checkpoint …")
def _load(name: str, stamps: tuple[int, ...]) -> Translator:
    return Translator.load(CHECKPOINTS / name)


@st.cache_resource(max_entries=128, show_spinner="Translating …")
def _trace(identity: int, _translator: Translator, text: str, strategy: Strategy) -> Trace:
    return _translator.trace(text, strategy=strategy)
