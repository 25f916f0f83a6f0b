"""The views of the page on training."""

from .views import views_in

VIEWS = views_in(
    {
        "train live": "live_view",
        "film": "film_view",
        "knobs": "knobs_view",
        "rate": "rate_view",
        "label smoothing": "smoothing_view",
        "batches": "batches_view",
    }
)
