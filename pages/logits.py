"""Logits: how does the decoder's last vector become a word?"""

from ui.navigation import chosen
from views.logits.page import show_page

show_page(chosen())
