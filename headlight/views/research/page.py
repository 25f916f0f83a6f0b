"""The page Research: one view at a time, from a list."""

from headlight.app.choices import from_list
from headlight.app.navigation import beside_title
from headlight.app.results import TranslationRequest

from . import (
    atlas,
    attribution,
    calibration,
    contrast,
    early_layers,
    embeddings,
    feed_forward,
    logit_lens,
    patching,
    rollout,
    source_or_prefix,
    trajectory,
)

VIEWS = {
    "atlas": atlas.show_page,
    "rollout": rollout.show,
    "attribution": attribution.show,
    "logit lens": logit_lens.show,
    "calibration": calibration.show,
    "trajectory": trajectory.show,
    "embeddings": embeddings.show,
    "feed-forward": feed_forward.show,
    "patching": patching.show,
    "early layers": early_layers.show,
    "contributions": source_or_prefix.show,
    "contrast": contrast.show,
}


def show_page(request: TranslationRequest) -> None:
    """Show the view that the address asks for. Raises UserError."""
    with beside_title():
        view = from_list("View", tuple(VIEWS), "research", visibility="collapsed")
    VIEWS[view](request)
