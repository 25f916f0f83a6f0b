"""The explorer for attention of any model, as a page in a notebook or a file: `explore`."""

import html
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from transformer.errors import DataError
from transformer.interpret.attention_maps import CROSS, DECODER, ENCODER, attention_of_output, collect_maps

from .views.attention.maps_content import maps_page

_HEIGHT = 860  # pixels: all heads and one large map beside each other
_TOKENS = ("tokens", "source", "target")
_NAMES = ("attention", ENCODER, DECODER, CROSS, *_TOKENS)  # of arrays in a file: those that `explore` has


class Display:
    """A page that a notebook shows in the cell whose value this is; `page` is its HTML."""

    def __init__(self, page: str, height: int = _HEIGHT):
        self.page = page
        self.height = height

    def __repr__(self) -> str:
        return f"<a page of {len(self.page):,} characters; a notebook shows it>"

    def _repr_html_(self) -> str:
        """Return the page in a frame that can run its script and reach neither the notebook nor a network."""
        return (
            f'<iframe srcdoc="{html.escape(self.page)}" sandbox="allow-scripts allow-downloads" '
            f'style="width: 100%; height: {self.height}px; border: none" title="Attention explorer"></iframe>'
        )

    def save(self, path: str | Path) -> None:
        """Write the page as one HTML file, which any browser opens without a network."""
        Path(path).write_text(self.page, encoding="utf-8")


def explore(
    attention: Any = None,
    tokens: Sequence[str] | None = None,
    *,
    encoder: Any = None,
    decoder: Any = None,
    cross: Any = None,
    source: Sequence[str] | None = None,
    target: Sequence[str] | None = None,
    batch: int | None = None,
) -> Display:
    """Show attention of any model in the explorer, in a notebook or by `.save("maps.html")` as a file.

        hl.explore(attentions, tokens)  # self-attention
        hl.explore(encoder=..., decoder=..., cross=..., source=source_tokens, target=target_tokens)
        hl.explore(model(**inputs, output_attentions=True), tokens)  # or source and target

    attention: an output of `transformers`, that of `generate` included, or self-attention. Self-attention, encoder,
    decoder and cross are layers, tensors or arrays [heads, queries, keys] or [batch, heads, queries, keys]; layers may
    differ in their number of heads, None is a layer without attention. tokens, source and target: texts; without them
    tokens are numbered. batch: which text of several is shown. A generation may have one more token than rows, its
    last, which nothing has read. Rows need not sum to 1. Raises ValueError for anything else.
    """
    kinds = {ENCODER: encoder, DECODER: decoder, CROSS: cross}
    kinds = {kind: layers for kind, layers in kinds.items() if layers is not None}
    if (attention is None) == (not kinds):
        raise ValueError("expected either attention, or some of encoder, decoder and cross")
    if isinstance(attention, list | tuple) or hasattr(attention, "shape"):
        kinds = {ENCODER: attention}
    elif attention is not None:
        kinds = attention_of_output(attention, batch)
    if tokens is not None and (source is not None or kinds.keys() != {ENCODER}):
        raise ValueError("expected tokens for a model with self-attention alone, else source and target")
    texts = {"source": source if tokens is None else tokens, "target": target}
    return Display(maps_page(collect_maps(kinds, texts, batch)))


def explore_file(path: Path) -> Display:
    """Return the explorer for a .npz whose arrays have the names of the arguments of `explore`.

    Tokens are arrays of texts. Raises DataError for any other file.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            if unknown := sorted(set(file.files) - {*_NAMES}):
                raise ValueError(f"expected arrays with the names {', '.join(_NAMES)}, got {unknown[0]}")
            arrays = {name: file[name].tolist() if name in _TOKENS else file[name] for name in file.files}
        return explore(**arrays)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, EOFError, TypeError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} has no attention maps: {error}.") from error
