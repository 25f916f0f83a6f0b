"""Home: what this is, your own sentence translated before your eyes, and three ways on."""

from ui.navigation import show

show("home")
