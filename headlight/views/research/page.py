"""The page Research: one view at a time, from a list."""

from headlight.app.choices import show_views
from headlight.app.results import TranslationRequest

from . import (
    atlas,
    attribution,
    calibration,
    contrast,
    contributions,
    embeddings,
    feed_forward,
    logit_lens,
    patching,
    rollout,
    trajectory,
    why_cell,
)

VIEWS = {
    "atlas": atlas.show,
    "rollout": rollout.show,
    "attribution": attribution.show,
    "contributions": contributions.show,
    "contrast": contrast.show,
    "patching": patching.show,
    "logit lens": logit_lens.show,
    "trajectory": trajectory.show,
    "embeddings": embeddings.show,
    "why this cell": why_cell.show,
    "feed-forward": feed_forward.show,
    "calibration": calibration.show,
}


def show_page(request: TranslationRequest) -> None:
    """Show the view that the address asks for. Raises UserError."""
    show_views(VIEWS, "research", request)
