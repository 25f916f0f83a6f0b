"""Translate: what does the model make of this sentence, how sure is it, and what does it read?"""

from ui.navigation import chosen
from views.translate.page import show_page

show_page(chosen())
