"""The views of the page on the architecture."""

from .views import views_in

VIEWS = views_in(
    {
        "diagram": "architecture_view",
        "one token's walk": "walk_view",
        "embeddings": "embeddings_view",
        "feed-forward": "feed_forward_view",
        "pre-norm and post-norm": "norms_view",
    }
)
