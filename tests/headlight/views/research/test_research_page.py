"""The page Research: tiles that open its views, the ways between views, and names that the address had before."""

from support.pages import open_page, page_text

from headlight.language import texts_of
from headlight.views.research.page import TILES, VIEWS

PAGE = "pages/research.py"


def shown(app) -> str | None:
    """The view that stands beside the title."""
    names = {f"**{name.capitalize()}**": name for name in VIEWS}
    return next((names[each.value] for each in app.markdown if each.value in names), None)


def test_a_tile_for_each_view_opens_it_and_all_views_leads_back():
    app = open_page(PAGE)
    labels = [button.label for button in app.button if button.key.startswith("open_")]
    assert labels == [name.capitalize() for name in VIEWS] and texts_of(TILES).keys() == {"style", *VIEWS}
    app.button(key="open_embeddings").click().run()
    assert shown(app) == "embeddings" and "embeddings" in app.query_params["research"]
    app.button(key="neighbour_1").click().run()
    assert shown(app) == "feed-forward" and not app.exception
    app.button(key="all_views").click().run()
    assert shown(app) is None and "research" not in app.query_params and app.button(key="open_atlas")


def test_the_address_of_a_view_that_is_gone_opens_the_tiles_and_says_so():
    app = open_page(PAGE, research="trajectory")
    assert shown(app) is None and "no view “trajectory”" in page_text(app) and app.button(key="open_atlas")
