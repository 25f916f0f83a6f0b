"""Early exits: each decoder layer's own prediction (logit lens), each encoder layer's translation (DecoderLens)."""

import html
from collections.abc import Callable, Sequence

import numpy as np
import streamlit as st

from headlight.app import results
from headlight.app.finding import Finding, Templates
from headlight.app.results import TranslationRequest
from headlight.app.widgets import show_finding, show_table, show_translation
from headlight.plots.decoding import layer_names
from headlight.plots.names import norm_name
from headlight.plots.numbers import signed
from headlight.plots.tokens import shown_token, shown_tokens
from transformer import Sampling
from transformer.decoding.sampling import Hypothesis
from transformer.interpret.activations import Predictions
from transformer.interpret.residual import MORE_TOKENS, kept_positions
from transformer.interpret.trace import Trace

TEMPLATES = Templates.beside(__file__)


def show(request: TranslationRequest) -> None:
    """Show the predictions of every decoder layer, then the translations from every encoder layer. Raises UserError."""
    translations = results.study(request).early_translations()
    translator, trace = results.translator(request.checkpoint), show_translation(request)
    config, name = translator.model.config, translator.tokenizer.piece_text
    lens = results.study(request).lens()
    st.markdown(TEMPLATES.text("intro"))
    label, corner, shades = TEMPLATES.text("alt"), TEMPLATES.text("corner"), lens.probabilities.tolist()
    show_table(label, corner, shown_tokens(trace.target_tokens), lens_rows(lens, name), shades=shades)
    show_finding(describe_lens(lens, trace))
    norms = [
        TEMPLATES("norm", part=TEMPLATES(part), norm=norm_name(config)) if config.norm == "pre" else ""
        for part in ("stack", "encoder")
    ]
    st.caption(TEMPLATES.text("caption", norm=norms[0]))
    st.markdown(TEMPLATES.text("intro_early"))
    st.html(early_layers_html(translations, name))
    show_finding(describe_early(translations))
    greedy = TEMPLATES("greedy") if isinstance(request.strategy, Sampling) else ""
    st.caption(TEMPLATES.text("caption_early", norm=norms[1], greedy=greedy))


def lens_rows(lens: Predictions, name: Callable[[int], str]) -> list[tuple[str, list[str]]]:
    """Return for each layer its name, and a cell per step: its top-1 token, probability and rank of the final token.

    `name` turns an id into the token's text.
    """
    rows, steps = lens.probabilities.shape

    def cell(row: int, step: int) -> str:
        best = shown_token(name(int(lens.best_ids[row, step, 0])))
        return str(TEMPLATES("cell", best=best, chance=lens.probabilities[row, step], rank=lens.ranks[row, step]))

    return [(layer, [cell(row, step) for step in range(steps)]) for row, layer in enumerate(layer_names(rows))]


def describe_lens(lens: Predictions, trace: Trace) -> Finding:
    """Return the layer from which on each final token leads, and the step where it ranks worst, over free steps.

    A token that was sampled or found by beam search may never lead: it is counted apart.
    """
    names, free = layer_names(len(lens.ranks)), lens.ranks[:, trace.num_forced :]
    settled = [_settled(ranks) for ranks in free.T]
    leads = [
        TEMPLATES("leads_from", row=row, layer=name, steps=settled.count(row))
        for row, name in enumerate(names)
        if row in settled
    ]
    if len(names) in settled:
        leads.append(TEMPLATES("never_leads", row=len(names), steps=settled.count(len(names))))
    worst = trace.num_forced + int(np.log(free).mean(axis=0).argmax())
    ranks = tuple(TEMPLATES("rank", rank=int(rank)) for rank in lens.ranks[:, worst])
    token = trace.target_tokens[worst]
    finding = TEMPLATES("early", early=sum(row < len(names) - 1 for row in settled), tokens=len(settled))
    return finding.followed_by(
        TEMPLATES("leads", leads=tuple(leads)),
        TEMPLATES("worst", step=worst + 1, token=token, ranks=ranks, last=names[-1]),
    )


def _settled(ranks: np.ndarray) -> int:
    """Return the first row from which on the rank is 1, the number of rows if the last is not."""
    wrong = np.flatnonzero(ranks != 1)
    return int(wrong[-1]) + 1 if len(wrong) else 0


def encoder_names(count: int) -> list[str]:
    """Name the inputs of the decoder: the embeddings, then each layer's output."""
    return [TEMPLATES.text("from"), *(TEMPLATES.text("layer", layer=layer) for layer in range(1, count))]


def early_layers_html(translations: Sequence[Hypothesis], name: Callable[[int], str]) -> str:
    """Return a table: each layer with log P of its translation and its tokens, those of the last layer's marked.

    `name` turns an id into the token's text.
    """
    rows = "".join(
        f'<tr><th scope="row">{html.escape(layer)}</th><td>{signed(one.log_probability, 2)}</td>'
        f'<td class="tokens">{_tokens(one, translations[-1], name)}</td></tr>'
        for layer, one in zip(encoder_names(len(translations)), translations, strict=True)
    )
    head = "".join(f'<th scope="col">{TEMPLATES(name)}</th>' for name in ("reads", "log_p", "writes"))
    return (
        f'<div class="places early" tabindex="0" role="region" aria-label="{TEMPLATES("alt_early")}"><table><thead><tr>'
        f"{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _tokens(one: Hypothesis, last: Hypothesis, name: Callable[[int], str]) -> str:
    places = kept_positions(one.ids, last.ids)
    tokens = [name(token_id) for token_id in one.ids[: len(last.ids) + MORE_TOKENS]]
    shown = [
        f'<span class="{"kept" if at in places else "other"}">{html.escape(text)}</span>'
        for at, text in enumerate(shown_tokens(tokens))
    ]
    more = len(one.ids) - len(shown)
    rest = TEMPLATES.text("more", more=more) if more > 0 else "" if one.finished else TEMPLATES.text("goes_on")
    return " ".join(shown) + rest


def describe_early(translations: Sequence[Hypothesis]) -> Finding:
    """Return the layer from which on the decoder writes the final translation, and its part from the embeddings."""
    first, last, names = translations[0], translations[-1].ids, encoder_names(len(translations))
    same = [one.ids == last for one in translations]
    start = len(same) - same[::-1].index(False) if False in same else 0
    before = tuple(name for name, is_same in zip(names[:start], same[:start], strict=True) if is_same)
    headline = "from_layer" if start else "from_embeddings"
    if start and sum(same) == 1:
        headline = "only_last"
    return TEMPLATES(headline, start=start).followed_by(
        TEMPLATES("also", also=before, missing=names[start - 1]) if before else None,
        TEMPLATES(
            "embeddings",
            written=len(first.ids),
            endless="" if first.finished else TEMPLATES("endless"),
            kept=len(kept_positions(first.ids, last)),
            final=len(last),
        ),
    )
