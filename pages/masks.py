"""Masks: which cells of attention are masked and why, and what leaks when they are not."""

from ui.navigation import show

show("masks")
