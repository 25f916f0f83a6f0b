"""Translations from early encoder layers as a table and in words, and the parts of a logit in words."""

import html
from collections.abc import Callable, Sequence

from headlight.plots.text import kind_head_name, pluralize, quoted, signed
from transformer.decoding.sampling import Hypothesis
from transformer.interpret.residual import MORE_TOKENS, kept_positions
from transformer.interpret.what_if.logit_attribution import LogitAttribution


def layer_names(count: int) -> list[str]:
    """Name what the decoder reads: the embeddings, then each layer's output."""
    return ["embeddings", *(f"layer {layer}" for layer in range(1, count))]


def early_layers_html(found: Sequence[Hypothesis], name: Callable[[int], str]) -> str:
    """Return a table: each layer with log P of its translation and its tokens, those of the last layer's marked.

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
    kept = kept_positions(one.ids, last.ids)
    shown = [
        f'<span class="{"kept" if at in kept else "other"}">{html.escape(name(id))}</span>'
        for at, id in enumerate(one.ids[: len(last.ids) + MORE_TOKENS])
    ]
    more = len(one.ids) - len(shown)
    return " ".join(shown) + (f" … {more} more" if more > 0 else "" if one.finished else " … and goes on")


def describe_lens(found: Sequence[Hypothesis]) -> str:
    """Say from which layers the decoder writes the final translation, and what it has of it from the embeddings."""
    first, last = found[0].ids, found[-1].ids
    same = [layer for layer, one in zip(layer_names(len(found)), found, strict=True) if one.ids == last]
    return (
        f"The decoder writes this very translation from: {', '.join(same)}. From the embeddings, where no token has "
        f"read another, it writes {pluralize(len(first), 'token')}{'' if found[0].finished else ' and goes on'}; "
        f"{len(kept_positions(first, last))} of the translation's {len(last)} are there, in its order."
    )


def logit_words(token: str, against: str | None) -> str:
    """Name what the parts add up to: "logit of “▁a”", or its lead over that of another token."""
    lead = f" minus that of {quoted(against)}" if against is not None else ""
    return f"logit of {quoted(token)}{lead}"


def describe_parts(found: LogitAttribution, what: str) -> str:
    """Say that the parts add up, and which kind, which head and which feed-forward is the largest part."""
    kinds, (head, most) = found.by_kind(), found.largest_head()
    kind, layer = max(kinds, key=lambda kind: kinds[kind]), int(found.feed_forward.argmax())
    return (
        f"All parts sum to {signed(found.total, 2)}; the run's {what} is {signed(found.logit, 2)}. Largest kind: "
        f"{kind}, {signed(kinds[kind], 2)}. Largest head: {kind_head_name(head)}, {signed(most, 2)}. Largest "
        f"feed-forward: layer {layer + 1}, {signed(float(found.feed_forward[layer]), 2)}."
    )
