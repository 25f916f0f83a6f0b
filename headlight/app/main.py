"""One run of the app: the frame that all pages have, and the page that the address asks for."""

from pathlib import Path

import streamlit as st

from .loading_screen import freeze_imports, starting

FOLDER = Path(__file__).parent


def main() -> None:
    """Draw the page in the address for one visitor."""
    st.set_page_config(page_title="Headlight", page_icon=str(FOLDER / "icon.svg"), layout="wide")
    st.html(FOLDER / "page.css")
    st.logo(FOLDER / "logo.svg", size="large", icon_image=FOLDER / "icon.svg")
    with starting():
        from . import bar, heading
        from .figures import offer_downloads
        from .line import in_turn
        from .navigation import group_headings, is_home, navigation, run_page

    place = st.empty()  # for a word to who has to wait
    page = navigation()
    st.html(group_headings())
    above = st.container()  # on every page: a widget that moves leaves the address
    if is_home(page):
        with above:
            heading.show_name()
    choice = bar.show()  # quickly done, and who waits says what will be asked for
    offer_downloads()
    with in_turn(place, choice):
        run_page(page, choice)
    freeze_imports()
