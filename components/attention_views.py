"""The views of the page on attention."""

from .views import views_in

VIEWS = views_in({"explorer": "explorer_view", "rollout": "rollout_view", "beyond the weights": "beyond_view"})
