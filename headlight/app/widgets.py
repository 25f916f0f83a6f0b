"""Widgets of the pages: text escaped for Markdown, findings, figures, tables, translations, tokens."""

import csv
import html
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from headlight.app import results
from headlight.app.finding import Finding, Templates
from headlight.app.results import TranslationRequest
from headlight.components.show import figure_downloads
from headlight.language import name_of_language
from headlight.plots.heatmap import plain_maps
from headlight.plots.layout import captioned, enlarged
from headlight.plots.limits import plain_cells_words
from headlight.plots.names import sentence_case
from headlight.plots.numbers import percent
from headlight.plots.tokens import GLYPHS, chip_text, in_words, nothing, spoken
from transformer import Trace, Translator
from transformer.checkpoint import data_of
from transformer.interpret.head_patterns import word_ranges

from . import state
from .languages import language_name, other_language
from .parameters import default_of
from .spreadsheet import as_text

TEMPLATES = Templates.beside(__file__)
LARGER = 1.5  # in presentation mode, as all type in present.css
_PRESENTABLE = "presentable"  # in the session: whether the browser has presentation mode
_ESCAPED = str.maketrans({sign: f"\\{sign}" for sign in r"\`*_{}[]()<>#+-.!|$:~&"})
_MARKUP = re.compile(r"\\([^\w\s]|_)|\*\*")  # Markdown, removed from downloaded captions
# Columns on a narrow screen up to which page.css shows numbers in cells, all labels, and every second label.
_NUMBERED, _LABELLED, _HALF_LABELLED = 10, 18, 36


def plain(text: str) -> str:
    """Escape every sign of Markdown's in a text with parts from users, checkpoints or models; tokens read as words."""
    return in_words(text).translate(_ESCAPED)


def show_finding(finding: Finding, attempt: str = "") -> None:
    """Show a finding: its headline, and behind "more" its details and an experiment."""
    more = f"<p>{_escape(finding.more)}</p>" if finding.more else ""
    tried = f"<p><strong>{TEMPLATES('attempt')}</strong> {_escape(attempt)}</p>" if attempt else ""
    folded = f"<details><summary>{TEMPLATES('more')}</summary>{more}{tried}</details>" if more or tried else ""
    st.html(f'<div class="finding"><p class="headline">{_escape(finding.headline)}</p>{folded}</div>')


def _escape(text: str) -> str:
    return html.escape(in_words(text))


def show_calculation(text: str) -> None:
    """Show a number of the figure, calculated by hand."""
    st.html(f'<div class="finding"><p>{_escape(text)}</p></div>')


def show_attempt(text: str) -> None:
    """Show something to try."""
    summary = f"<summary>{TEMPLATES('try')}</summary>"
    st.html(f'<div class="finding"><details>{summary}<p>{_escape(text)}</p></details></div>')


def phone_container(columns: int, key: str) -> DeltaGenerator:
    """Return a container for a figure of so many columns of tokens; page.css reads from its key which labels fit."""
    if columns <= _NUMBERED:
        return st.container(key=f"roomy_{key}")
    every = 1 + sum(columns > most for most in (_LABELLED, _HALF_LABELLED))
    return st.container(key=f"crowded_{every}_{key}")


@dataclass(frozen=True)
class Panel:
    """A figure under its title, with a caption in Markdown.

    columns: its columns of tokens; key: its name where the title may change.
    """

    title: str
    figure: go.Figure
    caption: str = ""
    columns: int = 0
    key: str = ""


def show_panels(subject: str, *panels: Panel, see: Finding | str = "") -> None:
    """Show figures side by side; screen readers read `subject` after each title. see: as for `show_figure`."""
    for column, panel in zip(st.columns(len(panels)), panels, strict=True):
        key = panel.key or panel.title
        with column, phone_container(panel.columns, key) if panel.columns else column:
            st.markdown(f"**{panel.title}**")
            caption = " ".join(filter(None, (_MARKUP.sub(r"\1", panel.caption), str(see))))
            show_figure(panel.figure, key, f"{panel.title}: {subject}", caption)
            if panel.caption:
                st.caption(panel.caption)


def offer_download(label: str, data: str | Callable[[], bytes], name: str, kind: str, explanation: str = "") -> None:
    """Show a button that saves a file of this MIME type, without running the page again."""
    st.download_button(label, data, name, kind, icon=":material/download:", on_click="ignore", help=explanation or None)


def offer_page(page: Callable[[], str], name: str) -> None:
    """Show a button that saves a view as one HTML file, made on demand."""
    offer_download(TEMPLATES.text("page"), lambda: page().encode(), name, "text/html")


def offer_table(label: str, table: Callable[[], pd.DataFrame], name: str) -> None:
    """Show a button that saves a table as CSV, made on demand."""
    offer_download(label, lambda: as_csv(table()), name, "text/csv")


def as_csv(table: pd.DataFrame) -> bytes:
    """Return a table as CSV in UTF-8, without its index and without formulas."""
    texts = {name: table[name].map(as_text) for name in table.select_dtypes(exclude=["number", "bool"])}
    return table.assign(**texts).to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC).encode()


def show_table(
    label: str,
    corner: str,
    header: Sequence[str],
    rows: Sequence[tuple[str, Sequence[str]]],
    masked: Sequence[Sequence[bool]] | None = None,
    shades: Sequence[Sequence[float]] | None = None,
) -> None:
    """Show rows with their names, `corner` above the names; cells with `masked` True are hatched.

    The part of a cell's text after a tab appears on hover.

    shades: colours of the cells, from 0 to 1; the first line of their texts is bold. label: name for screen readers.
    """
    if shades:
        styles = [[f' class="shaded" style="--shade: {shade:.3f}"' for shade in row] for row in shades]
    else:
        marks = masked or [[False] * len(header)] * len(rows)
        styles = [[' class="closed"' if mark else "" for mark in row] for row in marks]
    head = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in header)
    body = ""
    for (name, cells), row_styles in zip(rows, styles, strict=True):
        body += f'<tr><th scope="row">{html.escape(name)}</th>'
        for (text, _, hint), style in zip((cell.partition("\t") for cell in cells), row_styles, strict=True):
            body += f"<td{style}{_title(hint)}>{html.escape(text)}</td>"
        body += "</tr>"
    st.html(
        f'<div class="places" tabindex="0" role="region" aria-label="{html.escape(label)}">'
        f'<table><thead><tr><th scope="row">{html.escape(corner)}</th>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _title(text: str) -> str:
    """Return an attribute that shows a text on hover; nothing for an empty text."""
    return f' title="{html.escape(text)}"' if text else ""


def can_be_presented() -> bool:
    """Return whether the browser has presentation mode: a phone's does not."""
    if _PRESENTABLE not in st.session_state:  # a visit has one browser, and reading its headers takes a millisecond
        st.session_state[_PRESENTABLE] = "Mobi" not in (st.context.headers.get("User-Agent") or "")
    return st.session_state[_PRESENTABLE]


def is_presented() -> bool:
    """Return whether the page is in presentation mode."""
    return state.value("present") == "1" and can_be_presented()


def show_figure(figure: go.Figure, key: str, alt: str, see: Finding | str = "") -> None:
    """Show a figure; `alt` describes it for screen readers, `see` is the page's finding.

    Both are its caption when it is downloaded, under the name `key`.
    """
    caption = in_words(f"{alt[0].upper()}{alt[1:]}." + (f" {see}" if see else ""))
    # Plotly's camera would make a second, coarser picture, in the page's theme.
    figure = captioned(figure, caption)
    if is_presented():
        figure = enlarged(figure, LARGER)
    st.plotly_chart(figure, key=key, alt=spoken(alt), config={"modeBarButtonsToRemove": ["toImage"]})
    for rows, columns in plain_maps(figure):
        st.caption(plain_cells_words(rows, columns))


def show_result(figure: go.Figure, key: str, alt: str, finding: Finding, attempt: str = "") -> None:
    """Show a figure, and below it its finding with an experiment to try."""
    show_figure(figure, key, alt, finding)
    show_finding(finding, attempt)


def offer_downloads() -> None:
    """Show the buttons of all figures of the page: their pictures, numbers and captions."""
    figure_downloads("figure_downloads")


def one_line(text: str) -> str:
    """Return a translation on one line, escaped for Markdown; a notice for an empty one."""
    return " ".join(text.split()).translate(_ESCAPED) or nothing()


def show_translation(request: TranslationRequest) -> Trace:
    """Show the translation alone, on one line, and return its trace; the sentence stands in the bar above.

    Raises UserError.
    """
    trace, data = results.trace(request), results.translator(request.checkpoint).checkpoint.data
    with st.container(key="translation"):
        language = name_of_language(data.get("target_language", TEMPLATES.text("translation")))
        label = plain(TEMPLATES.text("label", language=sentence_case(language)))
        read = f"{one_line(request.text)} → " if is_presented() else label
        st.markdown(f"{read}**{one_line(trace.target_text)}**")
    show_warnings(request)
    return trace


def show_warnings(request: TranslationRequest) -> None:
    """Warn of another language than the model reads, of unknown characters, and of a cut translation."""
    trace, translator = results.trace(request), results.translator(request.checkpoint)
    language = translator.checkpoint.data.get("source_language", "")
    if other := None if request.source_language else other_language(request.text, language):
        _show_other_language(other, request.text, translator)
    unknown = translator.unknown_characters(trace.source_text)
    if unknown:
        reads = TEMPLATES.text("reads", language=name_of_language(language)) if language else ""
        text = TEMPLATES.text("unknown", reads=reads, characters=tuple(unknown[:10]))
        st.warning(plain(text), icon=":material/help:")
    if not trace.finished:
        text = TEMPLATES.text("cut", words=tuple(trace.target_text.split()[:4]))
        st.warning(plain(text), icon=":material/cut:")


def _show_other_language(language: str, text: str, translator: Translator) -> None:
    """Say that a text looks like this language, and offer a checkpoint that reads it, if there is one."""
    reads = language_name(translator.checkpoint.data["source_language"])
    looks_like, read = (plain(name_of_language(name)) for name in (language, reads))
    words = TEMPLATES.text("other_language", language=looks_like, reads=read)
    st.warning(words, icon=":material/translate:")
    for name in results.checkpoint_names():
        data = data_of(results.description(results.checkpoint(name)))
        if language_name(data.get("source_language", "")) == language:
            label, query = (
                TEMPLATES.text("with", language=name_of_language(language), name=name),
                {"checkpoint": name, "text": text},
            )
            break
    else:
        if reads != "English":
            return
        example, checkpoint = default_of("text"), state.current().values.get("checkpoint")
        query = {"checkpoint": checkpoint, "text": example} if checkpoint else {"text": example}
        label = TEMPLATES.text("try_english", example=example)
    # A page link to the page that is open does nothing, and a button twice on a page needs two keys.
    address = html.escape("?" + urlencode(query))
    st.html(f'<a class="pair" href="{address}" target="_self">{_escape(label)}</a>')


def show_tokens(
    tokens: Sequence[str], ids: Sequence[int], label: str, unknown_id: int | None = None, caption: str = ""
) -> None:
    """Show each token over its id, below a caption; one of `unknown_id`, which the model cannot read, is outlined."""
    chips = [
        _chip(
            token,
            TEMPLATES.text("id", id=id_),
            css=" unknown" if id_ == unknown_id else "",
            title=TEMPLATES.text("token", number=number, tokens=len(tokens)),
        )
        for number, (token, id_) in enumerate(zip(tokens, ids, strict=True), start=1)
    ]
    _show(tokens, chips, label, caption)


def show_shares(tokens: Sequence[str], shares: Sequence[float], limit: float, label: str, side: str) -> None:
    """Show each token over its share in percent, as strong in colour as this is of `limit`.

    `side` is "source" or "prefix", each of which has its colour.
    """
    chips = [
        _chip(token, percent(share), css=f" of_{side}", share=0.03 + 0.6 * share / limit)
        for token, share in zip(tokens, map(float, shares), strict=True)
    ]
    _show(tokens, chips, label)


def _chip(token: str, note: str, *, css: str = "", share: float = 0.0, title: str = "") -> str:
    """Return a token as it looks over a note; `title` appears on hover."""
    colour = f' style="--share: {share:.3f}"' if share else ""
    special = " special" if token in GLYPHS else ""
    return (
        f'<span class="chip{special}{css}"{colour}{_title(title)}>'
        f'<span class="token" aria-hidden="true">{html.escape(chip_text(token))}</span>'
        f'<span class="letters">{html.escape(spoken(token))}</span><span class="note">{html.escape(note)}</span></span>'
    )


def _show(tokens: Sequence[str], chips: list[str], label: str, caption: str = "") -> None:
    """Show chips, those of one word joined, in one element with their caption."""
    words = word_ranges(tokens)
    inside = {position for word in words for position in word[1:]}
    items = "".join(f"{'' if at in inside else '</li><li>'}{chip}" for at, chip in enumerate(chips))
    above = f'<p class="caption">{html.escape(caption)}</p>' if caption else ""
    st.html(
        f'{above}<ol class="chips" aria-label="{html.escape(spoken(label))}">{items.removeprefix("</li>")}</li></ol>'
    )
