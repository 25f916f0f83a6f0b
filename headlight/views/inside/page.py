"""The page on the inside of attention: one view at a time."""

from functools import partial

from headlight.app.choices import show_views

from . import head_split, scaling, steps, toy

VIEWS = {
    "step by step": steps.show,
    "small example": toy.show,
    "splitting into heads": head_split.show,
    "why √d_k": scaling.show,
}
show_page = partial(show_views, VIEWS, "inside")
