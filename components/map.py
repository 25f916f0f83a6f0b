"""A large attention map on a page."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from figures.attention_map import attention_map_figure, map_title
from transformer.maps import AttentionMap

MOST_KEYS_ON_A_PHONE = 10  # with more, page.css leaves the numbers out of the cells on a narrow screen


def phone_container(columns: int, key: str) -> DeltaGenerator:
    """A container for a figure of so many columns of tokens, named for what page.css does to it on a phone."""
    return st.container(key=f"{'crowded' if columns > MOST_KEYS_ON_A_PHONE else 'roomy'}_{key}")


def show_map(chosen: AttentionMap, key: str) -> None:
    """Draw the map with a name for screen readers; hovering or tapping a cell shows its weight in any case."""
    with phone_container(len(chosen.keys), key):
        figure = attention_map_figure(chosen)
        st.plotly_chart(figure, key=key, width="content", alt=f"Heatmap. {map_title(chosen)}")
