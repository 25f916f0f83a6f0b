"""Decoding: how does the translation come about, token by token, and what else could have come?"""

from ui.navigation import chosen
from views.decoding.page import show_page

show_page(chosen())
