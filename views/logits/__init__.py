"""The views of the page on logits."""

from views.registry import views_in

VIEWS = views_in(
    {"one step": "views.logits.step", "logit lens": "views.logits.lens", "confidence": "views.logits.calibration"}
)
