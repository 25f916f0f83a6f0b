"""Styles and pictures of the app as texts, each read once: a server without free file handles still has them."""

import base64
import functools
from pathlib import Path


@functools.cache
def style(path: Path) -> str:
    """Return a style sheet as an element of HTML."""
    return f"<style>{path.read_text(encoding='utf-8')}</style>"


@functools.cache
def picture(path: Path) -> str:
    """Return an SVG file as an address that contains it."""
    return f"data:image/svg+xml;base64,{base64.b64encode(path.read_bytes()).decode()}"
