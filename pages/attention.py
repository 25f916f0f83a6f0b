"""Attention: what does every head of the encoder, the decoder and between them look at?"""

from ui.navigation import show

show("attention")
