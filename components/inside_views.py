"""The views of the page on the inside of attention."""

from .views import views_in

VIEWS = views_in(
    {
        "step by step": "stages_view",
        "toy numbers": "toy_block_view",
        "splitting into heads": "splitting_view",
        "why √d_k": "scaling_view",
    }
)
