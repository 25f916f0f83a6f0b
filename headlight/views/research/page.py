"""The page Research: a tile for each view with the question that it answers, or the view of the address."""

import html
from functools import partial
from pathlib import Path
from urllib.parse import quote

import streamlit as st

from headlight.app import state
from headlight.app.choices import option_label
from headlight.app.finding import Templates
from headlight.app.navigation import beside_title
from headlight.app.results import TranslationRequest
from headlight.app.statics import style
from headlight.app.widgets import plain
from headlight.language import texts_of
from headlight.plots.names import sentence_case

from . import (
    atlas,
    attribution,
    calibration,
    contrast,
    contributions,
    embeddings,
    feed_forward,
    logit_lens,
    patching,
    why_cell,
)

# In the order of the tiles; names that the address had before are in RENAMED.
VIEWS = {
    "attribution": attribution.show,
    "contrast": contrast.show,
    "contributions": contributions.show,
    "why this cell": why_cell.show,
    "logit lens": logit_lens.show,
    "patching": patching.show,
    "atlas": atlas.show,
    "embeddings": embeddings.show,
    "feed-forward": feed_forward.show,
    "calibration": calibration.show,
}
RENAMED = {"rollout": "attribution"}
_FOLDER = Path(__file__).parent
TEMPLATES = Templates.beside(__file__)
TILES = _FOLDER / "tiles.toml"  # style, and by view: question, picture
_KEY, _LONGEST = "research", 40  # the latter in letters, of a name that is no view


def show_page(request: TranslationRequest) -> None:
    """Show the view that the address asks for, without one a tile for each. Raises UserError."""
    name = state.value(_KEY)
    name = RENAMED.get(name, name)
    if name in VIEWS:
        _show_ways(list(VIEWS), name)
        VIEWS[name](request)
        return
    if name:
        st.info(plain(TEMPLATES.text("no_view", name=name[:_LONGEST])), icon=":material/info:")
    st.markdown(TEMPLATES.text("intro"))
    st.html(style(_FOLDER / "tiles.css"))
    with st.container(key="tiles"):
        for each in VIEWS:
            _show_tile(each)


def _show_tile(name: str) -> None:
    """Show a tile whose button, as large as the tile, opens the view."""
    with st.container(border=True, gap=None, key=f"tile_{name.replace(' ', '_')}"):
        st.html(f'<img src="{_picture(name)}" alt=""><p>{html.escape(texts_of(TILES)[name]["question"])}</p>')
        st.button(sentence_case(option_label(name)), key=f"open_{name}", on_click=_opener(name), type="tertiary")


def _picture(name: str) -> str:
    """Return the picture of a tile as an address; its style follows the theme of the page."""
    size = 'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 54"'
    svg = f"<svg {size}><style>{texts_of(TILES)['style']}</style>{texts_of(TILES)[name]['picture']}</svg>"
    return f"data:image/svg+xml;charset=utf-8,{quote(svg)}"


def _show_ways(names: list[str], name: str) -> None:
    """Show a way back to the tiles beside the title, the name of the view, and its neighbours."""
    at = names.index(name)
    with beside_title(), st.container(horizontal=True, gap="small", vertical_alignment="center", key="research_ways"):
        label = TEMPLATES.text("all_views")
        st.button(label, key="all_views", on_click=_opener(""), icon=":material/apps:", type="tertiary")
        st.markdown(f"**{sentence_case(option_label(name))}**", width="content")
        for step, icon in ((-1, "arrow_back"), (1, "arrow_forward")):
            other = names[(at + step) % len(names)]
            label, key = sentence_case(option_label(other)), f"neighbour_{step}"
            st.button(label, key=key, on_click=_opener(other), icon=f":material/{icon}:", type="tertiary")


def _opener(name: str) -> partial:
    return partial(state.go, **{_KEY: name})
