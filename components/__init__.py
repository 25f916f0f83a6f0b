"""Pieces of page that Streamlit has not, in plain HTML and CSS."""
