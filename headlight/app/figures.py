"""How a page shows a figure: with what it says of it, and a button to take it along."""

import plotly.graph_objects as go
import streamlit as st

from headlight.components.show import figure_downloads
from headlight.plots.layout import captioned, enlarged

from . import url_state

LARGER = 1.5  # what is presented, as all type in present.css


def is_presented() -> bool:
    """Whether the page is in presentation mode."""
    return url_state.read("present") == "1"


def show_figure(figure: go.Figure, key: str, alt: str, see: str = "") -> None:
    """A figure; `alt` tells screen readers what it shows, `see` is what the page says can be seen in it.

    Both are its caption where somebody takes it along, under the name `key`.
    """
    caption = f"{alt[0].upper()}{alt[1:]}." + (f" {see}" if see else "")
    # Plotly's own camera would make a second, coarser picture, in the page's theme.
    figure = captioned(figure, caption)
    if is_presented():
        figure = enlarged(figure, LARGER)
    st.plotly_chart(figure, key=key, alt=alt, config={"modeBarButtonsToRemove": ["toImage"]})


def offer_downloads() -> None:
    """The buttons of all figures of the page: their pictures, numbers and captions."""
    figure_downloads("figure_downloads")
