"""What a visitor can take of a figure: picture, numbers and caption, all made by the visitor's own browser."""

from headlight.components.bundle import component

_downloads = component("figure_downloads", "figure_downloads/downloads")


def figure_downloads(key: str) -> None:
    """Give every figure of the page a button beside it; the server has nothing to do with what it saves.

    A figure's caption stands in the `meta` of its layout.
    """
    _downloads({}, key)
