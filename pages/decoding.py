"""Decoding: how does the translation come about, token by token, and what else could have come?"""

from ui.navigation import show

show("decoding")
