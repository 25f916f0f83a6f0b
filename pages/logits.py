"""Logits: how does the decoder's last vector become a word?"""

from ui.navigation import show

show("logits")
