"""Translate: what does the model make of this sentence, how sure is it, and what does it read?"""

from ui.navigation import show

show("translate")
