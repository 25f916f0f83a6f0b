"""The views of the page on attention."""

from views.registry import views_in

VIEWS = views_in(
    {
        "explorer": "views.attention.explorer",
        "rollout": "views.attention.rollout",
        "beyond the weights": "views.attention.beyond_weights",
    }
)
