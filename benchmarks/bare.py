"""The least that Streamlit can do: two pages with one small heatmap each. What `pages.py` measures the app against."""

import plotly.graph_objects as go
import streamlit as st


def first() -> None:
    """A title and a heatmap."""
    _show("First", [[0.1, 0.9], [0.5, 0.2]])


def second() -> None:
    """Another title and another heatmap."""
    _show("Second", [[0.7, 0.3, 0.1], [0.2, 0.4, 0.6]])


def _show(title: str, weights: list[list[float]]) -> None:
    st.title(title)
    st.plotly_chart(go.Figure(go.Heatmap(z=weights)), key=title)


st.navigation([st.Page(first, title="First", default=True), st.Page(second, title="Second")]).run()
