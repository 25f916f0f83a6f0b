"""Positional encoding: how does the model know in which order the words stand?"""

from ui.navigation import chosen
from views.positions.page import show_page

show_page(chosen())
