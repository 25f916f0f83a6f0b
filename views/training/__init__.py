"""The views of the page on training."""

from views.registry import views_in

VIEWS = views_in(
    {
        "train live": "views.training.live",
        "film": "views.training.replay",
        "knobs": "views.training.compare",
        "rate": "views.training.learning_rate",
        "label smoothing": "views.training.label_smoothing",
        "batches": "views.training.batching",
    }
)
