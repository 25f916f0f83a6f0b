"""Home: a translation as lines of attention, the effect of hiding words, and the map of one head."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from headlight.app import bar, results, state
from headlight.app.choices import switch
from headlight.app.finding import Templates
from headlight.app.navigation import beside_title
from headlight.app.results import CheckpointFiles, TranslationRequest, replays
from headlight.app.selection import numbers_address, parse_numbers
from headlight.app.widgets import plain, show_warnings
from headlight.components.show import replay_loop, token_lines
from headlight.language import name_of_language
from headlight.plots.heatmap import map_title
from headlight.views.live import offer_model
from transformer.interpret.head_patterns import word_ranges
from transformer.interpret.trace import AttentionMap, RowLabel, attention_map

from .content import Card, cards_of, hiding_facts, learning_facts, lines_facts
from .map import show_map, show_tokens_of

TEMPLATES = Templates.beside(__file__)


def show_page(
    request: TranslationRequest,
    show_ways: Callable[[], None],
    lesson_for: Callable[[CheckpointFiles], dict | None],
) -> None:
    """Show the translation with words to hide, with or without a map of one head, and links.

    lesson_for: the lesson of the file that visitors take along. Raises UserError.
    """
    with beside_title():
        with_map = switch("map")
    study = results.study(request)
    before = study.trace
    words = word_ranges(before.source_tokens)
    hidden = _hidden_words(len(words))
    after = study.without_words(*(words[number] for number in hidden)).trace if hidden else before
    checkpoint = results.translator(request.checkpoint).checkpoint
    hiding = hiding_facts(before, hidden) | {
        "source_language": name_of_language(checkpoint.data.get("source_language", ""))
    }
    training = checkpoint.settings("label_smoothing")
    show_warnings(request)
    if with_map:
        left, right = st.columns([3, 2], gap="medium")
        with right:
            shown = show_map(request, after)
        with left:
            st.markdown(f"**{map_title(shown)}**")
            _show_lines(lines_facts(after, shown, training) | hiding, shown, "beside map")
    else:
        head = results.default_head(request, "cross")
        shown = attention_map(after, "cross", head.layer, head.head, RowLabel.PREDICTED)
        _show_lines(lines_facts(after, shown, training) | hiding, shown, "alone")
    with st.container(key="home_below"):
        if with_map:
            show_tokens_of(request, after)
        with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="home_end"):
            show_ways()
            offer_model(request, lesson_for)
        _show_learning_and_cards(request)


def _show_lines(facts: dict, shown: AttentionMap, layout: str) -> None:
    head = {"layer": shown.layer, "head": shown.head, "rows": shown.row_label}
    with st.container(key="home_lines"):
        token_lines({"facts": facts, **head, "layout": layout}, "token_lines", _toggle_word, _open_step)


def _open_step(step: int) -> None:
    """Open the page Decoding at the step, from 0, of a doubtful token that was clicked."""
    state.leave_for("decoding", step=str(step + 1))


def _hidden_words(count: int) -> list[int]:
    """Return the numbers, from 0, of the words in the address that are there."""
    return list(parse_numbers(state.value("hidden"), count))


def _toggle_word(number: int) -> None:
    """Hide a word, or show it again; all of them for the number -1."""
    numbers = () if number < 0 else sorted(set(_hidden_words(number + 1_000)) ^ {number})
    state.go(hidden=numbers_address(numbers))


def _show_learning_and_cards(request: TranslationRequest) -> None:
    """Show the cards, beside a loop of the training where its replay is there."""
    if request.checkpoint.name not in replays.replay_names():
        _show_cards(request)
        return
    left, right = st.columns([2, 3], gap="medium")
    with left.container(key="home_learning"):
        replay_loop(learning_facts(replays.replay(request.checkpoint)), "replay_loop")
        label = TEMPLATES.text("training")
        st.page_link("pages/training.py", label=label, icon=":material/arrow_forward:")
    with right:
        _show_cards(request)


def _show_cards(request: TranslationRequest) -> None:
    checkpoint = results.translator(request.checkpoint).checkpoint
    read, written = (checkpoint.data.get(f"{side}_language", "") for side in ("source", "target"))
    cards = cards_of(read, written, checkpoint.probes)
    columns = (column for _ in cards[::2] for column in st.columns(2))
    for number, (column, card) in enumerate(zip(columns, cards, strict=False)):
        with column.container(border=True, gap="xsmall", key=f"home_card_{number}"):
            _show_card(number, card)


def _show_card(number: int, card: Card) -> None:
    st.markdown(f"**{plain(card.title)}** {plain(card.question)}")
    with st.container(horizontal=True, gap="small"):
        for name, sentence in card.sentences.items():
            take = partial(bar.take_sentence, sentence)
            about = None if name == sentence else plain(sentence)
            st.button(plain(name), key=f"card_{number}_{name}", on_click=take, help=about)
