"""The views of the page on the inside of attention."""

from views.registry import views_in

VIEWS = views_in(
    {
        "step by step": "views.inside.steps",
        "toy numbers": "views.inside.toy",
        "splitting into heads": "views.inside.head_split",
        "why √d_k": "views.inside.scaling",
    }
)
