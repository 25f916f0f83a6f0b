"""Masks: which cells of attention are masked and why, and what leaks when they are not."""

from ui.navigation import chosen
from views.masks.page import show_page

show_page(chosen())
