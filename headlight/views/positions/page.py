"""The page on positional encoding: why order needs it; settings beside the model's own; its sum with embeddings."""

from dataclasses import replace

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from headlight.app import bar, results, url_state
from headlight.app.choices import one_of, slider, slider_of, some_of, view_of, whole_number, write_line
from headlight.app.results import TranslationRequest, measures
from headlight.app.widgets import (
    is_presented,
    one_line,
    phone_container,
    plain,
    show_figure,
    show_finding,
    show_translation,
)
from headlight.plots import positional_encoding as figures
from headlight.plots.positional_encoding import cosines_figure, table_figure
from headlight.plots.text import Finding, quoted
from transformer.config import Positions
from transformer.interpret import positions
from transformer.interpret.positions import EmbeddingSum, Encoding, Repetition, encoding, position_rows
from transformer.model.names import Stack
from transformer.model.transformer import Transformer

from . import content, relative, relative_content
from .words import WORDS

DIMENSIONS = tuple(map(str, range(512)))


def _chosen_settings() -> Encoding:
    """Show the sliders, and return the encoding they ask for. Raises UserError for an invalid one."""
    columns = st.container(key="sliders_of_encoding").columns(3, gap="medium")
    with columns[0]:
        even = "Dimensions of the vectors. Even, because every sine has its cosine."
        d_model = slider("d_model", 2, 512, "d_model", 2, explanation=even)
    with columns[1]:
        length = slider("Length", 8, 512, "length", explanation="Number of positions.")
    with columns[2]:
        papers = "The paper took 10000: the longest wave is then nearly 2π · 10000 positions."
        base = slider_of("Base", content.BASES, "base", papers)
    return encoding(length, d_model, float(base))


def _show_curves(settings: Encoding, model: Encoding) -> None:
    """Show chosen dimensions over position."""
    st.subheader(WORDS["curves"])
    dimensions = [int(dimension) for dimension in some_of("Dimensions", DIMENSIONS, "dims", 8, WORDS["pairs"])]
    if not dimensions:
        st.warning("Choose at least one dimension, for example 0 and 1, the fastest pair.", icon=":material/edit:")
        return
    in_model = model.first(settings.length)
    see = content.describe_curves(settings, in_model, dimensions)
    alt = f"Curves over position, dimensions {', '.join(map(str, dimensions))}"
    for column, name, shown in _beside(settings, in_model):
        missing = content.missing_dimensions(shown, dimensions)
        if missing:
            column.caption(plain(missing))
        curves = figures.curves_figure(shown, dimensions)
        with column:
            show_figure(curves, f"curves_{name}", f"{alt}, {content.describe_size(shown)}", see)
    st.caption(WORDS["joined"])
    show_finding(see, content.TRY_BASE)


def _show_matrix(settings: Encoding, model: Encoding) -> None:
    """Show the whole tables."""
    st.subheader(WORDS["matrix"])
    in_model = model.first(settings.length)
    see = content.describe_matrix(settings, in_model)
    for column, name, shown in _beside(settings, in_model):
        alt = f"Heatmap of the positional encoding, {content.describe_size(shown)}"
        with column:
            show_figure(figures.table_figure(shown.table, limit=1.0), f"matrix_{name}", alt, see)
    show_finding(see, content.TRY_BASE)


def _show_similarity(settings: Encoding, model: Encoding) -> None:
    """Show dot products of all positions, and their dependence on distance."""
    st.subheader(WORDS["similarity"])
    laws = []
    for column, name, shown in _beside(settings, model.first(settings.length)):
        products = positions.dot_products(shown)
        alt = f"Heatmap of the dot products of all positions, {content.describe_size(shown)}"
        with column:
            show_figure(figures.products_figure(products), f"products_{name}", alt)
        laws.append(positions.distance_law(products))
    st.markdown(f"**{WORDS['distance']}**, {WORDS['distance_more']}")
    alt = "Dot product over the distance of two positions"
    see = content.describe_products(*laws)
    show_figure(figures.distance_figure(*laws), "distance", alt, see)
    show_finding(see, content.TRY_BASE)


def _show_wavelengths(settings: Encoding, model: Encoding) -> None:
    """Show the wavelength of every pair against the length."""
    st.subheader("Wavelength of every pair")
    st.markdown(
        "Pair $i$ repeats after $2\\pi \\cdot base^{2i/d_{model}}$ positions. Filled marks turn at least once within "
        "the length, the horizontal line; hollow ones do not."
    )
    alt = "Wavelengths of all pairs on a logarithmic axis, of these settings and of this model"
    see = content.describe_wavelengths(settings, model)
    show_figure(figures.wavelengths_figure(settings, model), "wavelengths", alt, see)
    show_finding(see, content.TRY_BASE)


def _show_rotation(settings: Encoding, model: Encoding) -> None:
    """Show one pair of dimensions as a point on a circle."""
    st.subheader("A shift is a rotation: PE(p + k) = R(k) PE(p)")
    columns = st.container(key="sliders_of_rotation").columns(3, gap="medium")
    with columns[0]:
        last = settings.d_model // 2 - 1
        pair = whole_number("Pair i", 0, last, "pair", start=min(4, last))
    with columns[1]:
        position = slider("Position p", 0, 100, "position")
    with columns[2]:
        offset = slider("Offset k", 1, 100, "offset")
    enough = encoding(max(settings.length, position + offset + 1), settings.d_model, settings.base)
    if enough.length > settings.length:
        st.caption(f"The table is made longer to reach position {position + offset}.")
    for column, name, shown in _beside(enough, model):
        with column:
            if pair >= shown.d_model // 2 or position + offset >= shown.length:
                st.caption(
                    f"Not here: pairs go to {shown.d_model // 2 - 1}, positions to {shown.length - 1}; asked for are "
                    f"pair {pair} and p + k = {position + offset}."
                )
                continue
            alt = f"Unit circle of pair {pair} with the arrows of positions {position} and {position + offset}"
            show_figure(figures.rotation_figure(shown, pair, position, offset), f"rotation_{name}", alt)
            st.latex(content.rotation_formula(shown, pair, position, offset))
    attempt = "another position: both arrows rotate, the angle between them stays the same. Then pair 0."
    show_finding(content.describe_rotation(enough, model, pair, offset), attempt)


def _show_order(request: TranslationRequest) -> None:
    """Show two sentences of the same words, and what tells them apart. Raises UserError."""
    words, map_beside, distances_beside = _parts_of_order()
    with words:
        one, two, see = _compare_two(request)
    moved = content.plainest(positions.shared_tokens(one, two))
    if not moved or one.kind == Positions.RELATIVE:  # whose vectors are the same at every place
        return
    with map_beside:
        _show_copies(one, two, moved[: content.MOST_COPIES], "order", see)
    with distances_beside:
        st.markdown("**How far apart a word's two vectors are**")
        alt = "Distance of the two vectors of each token that stands at two positions, with positions and without"
        show_figure(figures.distances_figure(moved[: content.MOST_DISTANCES]), "distances", alt, see)


def _parts_of_order() -> tuple[DeltaGenerator, DeltaGenerator, DeltaGenerator]:
    """Return where the words, the map and the distances go: presented, the map has the window's height for its rows."""
    if is_presented():
        beside, map_beside = st.columns((2, 3), gap="medium")
        return beside.container(), map_beside, beside
    words = st.container()
    map_beside, distances_beside = st.columns((3, 2), gap="medium")
    return words, map_beside, distances_beside


def _compare_two(request: TranslationRequest) -> tuple[EmbeddingSum, EmbeddingSum, Finding]:
    """Ask for two sentences, show their translations and what is found, and return their sums and that. UserError."""
    loaded = results.translator(request.checkpoint)
    data = loaded.checkpoint.data
    requests, columns = [], (st.container(), st.container()) if is_presented() else st.columns(2, gap="medium")
    with columns[0]:
        start = content.ordered_sentence(data.get("source_language", ""), request.text)
        first = write_line("A sentence", "ordered", start, start)
    with columns[1]:
        second = write_line(WORDS["reordered"], "reordered", content.exchanged(first), first)
    for column, text in zip(columns, (first, second), strict=True):
        requests.append(replace(request, text=text))
        with column:
            _show_both_translations(requests[-1], data.get("target_language", "Translation"))
    traces = [results.trace(each) for each in requests]
    one, two = map(measures.embedding_sum, requests)
    without = [measures.translation_without_positions(each) for each in requests]
    written = (traces[0].target_text, traces[1].target_text)
    see = content.describe_order(one, two, written, (without[0], without[1]))
    show_finding(see, WORDS["order_try"])
    return one, two, see


def _show_both_translations(request: TranslationRequest, language: str) -> None:
    """Show the translation with positions and without. Raises UserError."""
    with_them, without = results.trace(request).target_text, measures.translation_without_positions(request)
    st.markdown(f"{plain(language)}: **{one_line(with_them)}**  \n{WORDS['without']}: **{one_line(without)}**")


def _show_copies(one: EmbeddingSum, other: EmbeddingSum, copies: list[Repetition], key: str, see: Finding) -> None:
    """Show embeddings, positions and sums of tokens that stand at two places."""
    st.markdown(f"**{WORDS['copies']}**: {WORDS['copies_more']}")
    figure = figures.copies_figure(one, other, copies, min(content.DIMENSIONS_OF_COPIES, one.total.shape[1]))
    show_figure(figure, f"copies_{key}", "Embeddings, positions and sums of tokens that stand at two positions", see)


def _show_sum(request: TranslationRequest) -> None:
    """Show what adding the positions does to the user's own sentence. Raises UserError."""
    words, map_beside = st.columns((1, 3), gap="medium") if is_presented() else (st.container(), st.container())
    with words:
        st.subheader("What enters the encoder: embedding + position")
        show_translation(request)
        model = results.translator(request.checkpoint).model
        shown = one_of("First dimensions shown", ("32", "64", "128", "all"), "first_dims")
    summed = measures.embedding_sum(request)
    dimensions = model.config.d_model if shown == "all" else int(shown)
    alt = "Heatmaps of the embeddings, the positional encodings and their sums, one row for each token"
    see = content.describe_sum(summed)
    with map_beside:
        show_figure(figures.embedding_sum_figure(summed, dimensions), "sum", alt, see)
    show_finding(see, "all dimensions: in how many do the positions differ at all?")
    st.markdown(
        "**Lengths of the three vectors**, and the cosine between embedding and sum: the number above, or on hovering"
    )
    with phone_container(len(summed.tokens), "norms"):
        show_figure(figures.embedding_norms_figure(summed), "norms", "Bars: lengths of embedding, position and sum")
    st.markdown("**The same token twice**")
    language = results.translator(request.checkpoint).checkpoint.data.get("source_language", "")
    offered = content.repeating(language, request.text)
    repetition, attempt = content.describe_repetition(summed, offered)
    show_finding(repetition, attempt)
    if attempt:
        st.button(f"Use {plain(quoted(offered))}", on_click=bar.take_sentence, args=(offered,), key="use_repeating")
    else:
        copies = content.plainest(positions.repetitions(summed))[: content.MOST_COPIES]
        _show_copies(summed, summed, copies, "repeated", repetition)


def _show_learned(model: Transformer, view: str) -> None:
    """Show learned positions: each side's table where a view draws tables, the cosines of its rows elsewhere."""
    tables = {stack: position_rows(model, stack) for stack in Stack}
    similar = view in ("similarity", "rotation", "wavelengths")
    shown = {stack: table[: content.SHOWN] for stack, table in tables.items()}
    found = content.describe_likeness if similar else content.describe_norms
    told = " ".join(found(stack, np.asarray(table, dtype=np.float64)) for stack, table in shown.items())
    see = content.describe_learned(tables[Stack.ENCODER], told)
    for column, (stack, table) in zip(st.columns(2, gap="medium"), shown.items(), strict=True):
        column.markdown(f"**{stack.capitalize()}**: positions 0 to {len(table) - 1}, d_model {table.shape[1]}")
        figure = cosines_figure(table) if similar else table_figure(table)
        what = "cosines of all pairs of rows" if similar else "values"
        with column:
            show_figure(figure, f"learned_{stack}", f"Learned positions of the {stack}: {what}", see)
    show_finding(see)


def _beside(settings: Encoding, in_model: Encoding) -> list[tuple]:
    """Return two columns, the settings' on the left and the model's on the right, each headed with its size."""
    columns = st.columns(2, gap="medium")
    for column, name, shown in zip(columns, ("These settings", "This model's own"), (settings, in_model), strict=True):
        column.markdown(f"**{name}**: {plain(content.describe_size(shown))}")
    return list(zip(columns, ("settings", "model"), (settings, in_model), strict=True))


_OF_ENCODINGS = {
    "curves": _show_curves,
    "matrix": _show_matrix,
    "similarity": _show_similarity,
    "wavelengths": _show_wavelengths,
    "rotation": _show_rotation,
}
_RELATIVE = relative_content.VIEW
_OF_SENTENCES = {"word order": _show_order, "embedding sum": _show_sum, _RELATIVE: relative.show}
_WITHOUT_BIAS = ("word order", *_OF_ENCODINGS, "embedding sum")  # a row of buttons that fits beside the title
VIEWS = (*_WITHOUT_BIAS, _RELATIVE)


def _open_curves_of_old() -> None:
    """Open the curves for an address without a view that has their settings: it is of a time when they came first."""
    if url_state.came_from_another_page() and url_state.asked("d_model", "length", "base", "dims"):
        st.session_state.setdefault("positions", "curves")


def show_page(request: TranslationRequest) -> None:
    """Show a view, and below it the formula. Raises UserError."""
    _open_curves_of_old()
    loaded = results.translator(request.checkpoint)
    model = loaded.model
    is_relative = model.config.positions == Positions.RELATIVE
    wanted = is_relative or _RELATIVE in (*url_state.asked("positions").values(), st.session_state.get("positions"))
    view = view_of(VIEWS if wanted else _WITHOUT_BIAS, "positions")
    if is_relative and view in relative_content.HERE_INSTEAD:
        relative.lead_here(view)
    elif view in _OF_SENTENCES:
        _OF_SENTENCES[view](request)
    elif model.config.positions == Positions.LEARNED:
        _show_learned(model, view)
    elif not positions.has_formula(model):
        show_finding(content.NO_POSITIONS)
    else:
        bar.hide_sentence()
        in_model = positions.model_encoding(model)
        _OF_ENCODINGS[view](_chosen_settings(), in_model)
        if in_model.first_position:
            st.caption(plain(content.first_position_words(in_model)))
        if model.config.positions == Positions.MULTIPLIED:
            st.caption(plain(WORDS["multiplied"]))
    if is_relative or view == _RELATIVE:
        return
    _show_formula()


def _show_formula() -> None:
    st.subheader("The formula, and why there is one")
    st.markdown(WORDS["why"])
    st.latex(
        r"\begin{aligned} PE_{(pos,\,2i)} &= \sin\big(pos \,/\, base^{2i/d_{model}}\big) \\ "
        r"PE_{(pos,\,2i+1)} &= \cos\big(pos \,/\, base^{2i/d_{model}}\big) \end{aligned}"
    )
