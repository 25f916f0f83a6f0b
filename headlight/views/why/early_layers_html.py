"""The translations that the decoder makes of each encoder layer, under one another."""

import html
from collections.abc import Callable, Sequence

from headlight.plots.text import signed
from transformer.decoding.sampling import Hypothesis
from transformer.interpret.what_if.decoder_lens import MORE_TOKENS

from .early_layers_text import kept_places, layer_names


def early_layers_html(found: Sequence[Hypothesis], name: Callable[[int], str]) -> str:
    """A table: each layer with log P of its translation and its tokens, those of the last layer's translation marked.

    `name` turns an id into the token's text.
    """
    rows = "".join(
        f'<tr><th scope="row">{html.escape(layer)}</th><td>{signed(one.log_probability, 2)}</td>'
        f'<td class="tokens">{_tokens(one, found[-1], name)}</td></tr>'
        for layer, one in zip(layer_names(len(found)), found, strict=True)
    )
    label = "The translation that the decoder gives from each encoder layer, with its log-probability"
    return (
        f'<div class="places early" tabindex="0" role="region" aria-label="{label}"><table><thead><tr>'
        '<th scope="col">the decoder reads</th><th scope="col">log P</th><th scope="col">and writes</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _tokens(one: Hypothesis, last: Hypothesis, name: Callable[[int], str]) -> str:
    kept = kept_places(one.ids, last.ids)
    shown = [
        f'<span class="{"kept" if place in kept else "other"}">{html.escape(name(id))}</span>'
        for place, id in enumerate(one.ids[: len(last.ids) + MORE_TOKENS])
    ]
    more = len(one.ids) - len(shown)
    return " ".join(shown) + (f" … {more} more" if more > 0 else "" if one.finished else " … and goes on")
