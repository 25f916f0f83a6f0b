"""The page on attention: one view at a time."""

from functools import partial

from headlight.app.choices import show_views

from . import attribution, explorer, rollout

VIEWS = {"explorer": explorer.show, "rollout": rollout.show, "attribution methods": attribution.show}
show_page = partial(show_views, VIEWS, "attention")
