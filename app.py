"""Headlight: see a Transformer translate, head by head. Run with `streamlit run app.py`."""

from headlight.app.main import main


def guide():
    """Return what leads through lessons; not before PyTorch is read."""
    from headlight.lessons import panel

    return panel


main(guide)
