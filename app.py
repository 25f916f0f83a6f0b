"""Headlight: see a Transformer translate, head by head. Run with `streamlit run app.py`."""

from pathlib import Path

import streamlit as st

from ui.loading_screen import freeze_imports, starting

UI = Path(__file__).parent / "ui"

st.set_page_config(page_title="Headlight", page_icon=str(UI / "icon.svg"), layout="wide")
st.html(UI / "page.css")
st.logo(UI / "logo.svg", size="large", icon_image=UI / "icon.svg")

with starting():
    from ui import bar, heading
    from ui.figures import offer_downloads
    from ui.line import in_turn, wish
    from ui.navigation import group_headings, is_home, navigation, run_page

place = st.empty()  # for a word to who has to wait
page = navigation()
st.html(group_headings())
above = st.container()  # on every page, so that the bar below keeps its place: a widget that moves leaves the address
if is_home(page):
    with above:
        heading.show_name()
choice = bar.show()  # quickly done, and those in the line say what they will ask for
offer_downloads()
with in_turn(place, wish(page.url_path, choice)):
    run_page(page, choice)
freeze_imports()
