"""The views of the page on the architecture."""

from views.registry import views_in

VIEWS = views_in(
    {
        "diagram": "views.architecture.diagram",
        "one token's walk": "views.architecture.trajectory",
        "embeddings": "views.architecture.embeddings",
        "feed-forward": "views.architecture.feed_forward",
        "pre-norm and post-norm": "views.architecture.norm_placement",
    }
)
