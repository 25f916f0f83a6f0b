"""The least that Streamlit can do: two pages with one small heatmap each. What `pages.py` measures the app against."""

import plotly.graph_objects as go
import streamlit as st


def _page(title: str, weights: list[list[float]]) -> st.Page:
    def show() -> None:
        st.title(title)
        st.plotly_chart(go.Figure(go.Heatmap(z=weights)), key=title)

    return st.Page(show, title=title, url_path=title.lower(), default=title == "First")


st.navigation([_page("First", [[0.1, 0.9], [0.5, 0.2]]), _page("Second", [[0.7, 0.3, 0.1], [0.2, 0.4, 0.6]])]).run()
