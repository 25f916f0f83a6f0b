"""Texts of figures, from texts.toml in this folder."""

from collections.abc import Callable
from pathlib import Path

from headlight.language import form_of, texts_of


def texts_beside(module: str) -> Callable[..., str]:
    """Return a function that fills a text of a module, given its file, with named numbers by Python's own formats."""
    path = Path(module)

    def fill(name: str, /, **numbers: object) -> str:
        text = texts_of(path.with_name("texts.toml"))[path.stem]["texts"][name]
        return form_of(text, numbers).format(**numbers)

    return fill
