"""Layers read early: the translation from each encoder layer, and the parts of one logit in the decoder."""

import html
from collections.abc import Callable, Sequence

import streamlit as st

from headlight.app import results
from headlight.app.choices import choose_step, one_of
from headlight.app.results import TranslationRequest, what_if
from headlight.app.widgets import phone_container, plain, show_attempt, show_figure, show_finding, show_translation
from headlight.plots.contributions import logit_kinds_figure, logit_parts_figure
from headlight.plots.text import (
    LEAST_SHOWN,
    Finding,
    kind_head_name,
    norm_name,
    pluralize,
    quoted,
    sentence_case,
    shown_tokens,
    signed,
    with_norms,
)
from transformer import Sampling
from transformer.config import ModelConfig, NormType
from transformer.decoding.sampling import Hypothesis
from transformer.interpret.residual import MORE_TOKENS, kept_positions
from transformer.interpret.what_if.logit_attribution import LogitAttribution

LOGIT_OF = LOGIT, LEAD = "logit", "lead over the runner-up"


def show(request: TranslationRequest) -> None:
    """Show what the decoder writes from each encoder layer, then what each part adds to a logit. Raises UserError."""
    translator = results.translator(request.checkpoint)
    translations = what_if.early_translations(request)  # which has the translation too
    show_translation(request)
    st.html(early_layers_html(translations, translator.tokenizer.piece_text))
    config = translator.model.config
    norm = f", through the encoder's last {norm_name(config)}" if config.norm == "pre" else ""
    is_sampled = isinstance(request.strategy, Sampling)
    greedy = " Here it decodes greedily, where the translation above was sampled." if is_sampled else ""
    st.caption(
        f"The decoder reads the output of an earlier encoder layer as if it were the last{norm} (DecoderLens, "
        f"Langedijk et al. 2024). Blue: tokens of the last layer's translation, in its order.{greedy}"
    )
    show_finding(describe_lens(translations))
    _show_parts(request)
    show_attempt(
        "Take a sentence with “not”, a number or a name: from which layer on is it there, and in its place? A decoder "
        "that never learned to read an early layer may miss what stands in it. Then a step that copies a name and one "
        "that writes a full stop: which parts add to each? What a part does by way of later parts counts as theirs."
    )


def _show_parts(request: TranslationRequest) -> None:
    """Show a step's logit as the sum of what each part of the decoder adds directly."""
    trace, translator = results.trace(request), results.translator(request.checkpoint)
    with st.container(horizontal=True, vertical_alignment="top", gap="medium"):
        of = one_of(
            "Parts of the token's",
            LOGIT_OF,
            "logit_of",
            "The runner-up is the most probable other token of the step.",
        )
        step = choose_step(trace)
    other = int(trace.candidate_ids[step][trace.runner_up(step)]) if of == LEAD else None
    parts = what_if.logit_parts(request, step, other)
    against = None if other is None else translator.tokenizer.piece_text(other)
    what = logit_words(trace.target_tokens[step], against)
    left, right = st.columns([2, 5], gap="small")
    finding = describe_parts(parts, what)
    with left:
        show_figure(logit_kinds_figure(parts), "logit_kinds", f"What each kind of part adds to {what}", str(finding))
    with right, phone_container(2 * parts.cross.shape[1], "logit_map"):
        alt = f"What each head and each feed-forward of the decoder adds to {what}"
        show_figure(logit_parts_figure(parts), "logit_layers", alt, str(finding))
    show_finding(finding)
    st.caption(plain(_direct_attribution(translator.model.config)))


def _direct_attribution(config: ModelConfig) -> str:
    """Say what the parts of a logit are, and at what the norms of a model are held."""
    is_rms = config.norm_type == NormType.RMS
    held = "root mean square" if is_rms else "standard deviation"
    biases = "The biases are those of LayerNorms, attention outputs and the output layer; others count with their part."
    if is_rms and not config.bias:
        biases = "This model has no biases."
    return (
        "Direct logit attribution (Elhage et al. 2021): the logit is a dot product with the decoder's last vector, a "
        f"sum, so it is a sum too. {with_norms('Each LayerNorm', config)} is held at the {held} that it has here. "
        f"{with_norms(biases, config)}"
    )


def layer_names(count: int) -> list[str]:
    """Name what the decoder reads: the embeddings, then each layer's output."""
    return ["embeddings", *(f"layer {layer}" for layer in range(1, count))]


def early_layers_html(translations: Sequence[Hypothesis], name: Callable[[int], str]) -> str:
    """Return a table: each layer with log P of its translation and its tokens, those of the last layer's marked.

    `name` turns an id into the token's text.
    """
    rows = "".join(
        f'<tr><th scope="row">{html.escape(layer)}</th><td>{signed(one.log_probability, 2)}</td>'
        f'<td class="tokens">{_tokens(one, translations[-1], name)}</td></tr>'
        for layer, one in zip(layer_names(len(translations)), translations, strict=True)
    )
    label = "The translation that the decoder gives from each encoder layer, with its log-probability"
    return (
        f'<div class="places early" tabindex="0" role="region" aria-label="{label}"><table><thead><tr>'
        '<th scope="col">the decoder reads</th><th scope="col">log P</th><th scope="col">and writes</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _tokens(one: Hypothesis, last: Hypothesis, name: Callable[[int], str]) -> str:
    kept = kept_positions(one.ids, last.ids)
    tokens = [name(token_id) for token_id in one.ids[: len(last.ids) + MORE_TOKENS]]
    shown = [
        f'<span class="{"kept" if at in kept else "other"}" title="{html.escape(token)}">{html.escape(text)}</span>'
        for at, (token, text) in enumerate(zip(tokens, shown_tokens(tokens), strict=True))
    ]
    more = len(one.ids) - len(shown)
    return " ".join(shown) + (f" … {more} more" if more > 0 else "" if one.finished else " … and goes on")


def describe_lens(translations: Sequence[Hypothesis]) -> Finding:
    """Say from which layer on the decoder writes the final translation, and what it has of it from the embeddings."""
    first, last, names = translations[0], translations[-1].ids, layer_names(len(translations))
    same = [one.ids == last for one in translations]
    start = len(same) - same[::-1].index(False) if False in same else 0
    before = [name for name, there in zip(names[:start], same[:start], strict=True) if there]
    also = f"It also does from {', '.join(before)}, but not from {names[start - 1]}. " if before else ""
    headline = f"From {'the ' * (not start)}{names[start]} on the decoder writes this very translation."
    if start and sum(same) == 1:
        headline = "Only the last layer writes this translation."
    return Finding(
        headline,
        f"{also}From the embeddings, where no token has read another, it writes {pluralize(len(first.ids), 'token')}"
        f"{'' if first.finished else ' and goes on'}; {len(kept_positions(first.ids, last))} of the translation's "
        f"{len(last)} are there, in its order.",
    )


def logit_words(token: str, against: str | None) -> str:
    """Name what the parts add up to: "logit of “▁a”", or its lead over that of another token."""
    lead = f" minus that of {quoted(against)}" if against is not None else ""
    return f"logit of {quoted(token)}{lead}"


_SUBJECTS = {  # each kind of part, and the ending of its verb
    "embedding": ("the embedding", "s"),
    "position": ("the position", "s"),
    "self-attention": ("self-attention", "s"),
    "cross-attention": ("cross-attention", "s"),
    "feed-forward": ("the feed-forwards", ""),
    "biases": ("the biases", ""),
}


def describe_parts(parts: LogitAttribution, what: str) -> Finding:
    """Say which kind of part adds most and which takes most, that all parts add up, and the highest of the others."""
    kinds, (head, most) = parts.by_kind(), parts.largest_head()
    layer = int(parts.feed_forward.argmax())
    (against, lowest), (kind, highest) = (choose(kinds.items(), key=lambda each: each[1]) for choose in (min, max))
    (taker, taken), (subject, ending) = _SUBJECTS[against], _SUBJECTS[kind]
    does = f"add{ending} most" if highest > 0 else f"take{ending} least"
    takes = f"{sentence_case(taker)} take{taken} most, {abs(lowest):.2f}. " if lowest <= -LEAST_SHOWN else ""
    return Finding(
        f"Of all kinds of part {subject} {does}, {abs(highest):.2f}.",
        f"{takes}All parts sum to {signed(parts.total, 2)}; the run's {what} is {signed(parts.logit, 2)}. The highest "
        f"head is {kind_head_name(head)} ({signed(most, 2)}), the highest feed-forward that of layer {layer + 1} "
        f"({signed(float(parts.feed_forward[layer]), 2)}).",
    )
