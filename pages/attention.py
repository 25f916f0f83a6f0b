"""Attention: what does every head of the encoder, the decoder and between them look at?"""

from ui.navigation import chosen
from views.attention.page import show_page

show_page(chosen())
