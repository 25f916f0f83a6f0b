"""Positional encoding: how does the model know in which order the words stand?"""

from ui.navigation import show

show("positions")
