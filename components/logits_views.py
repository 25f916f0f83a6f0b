"""The views of the page on logits."""

from .views import views_in

VIEWS = views_in({"one step": "logits_view", "logit lens": "lens_view", "confidence": "confidence_view"})
