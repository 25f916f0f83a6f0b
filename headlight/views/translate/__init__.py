"""Translate: the translation, its tokens, and the cross-attention behind it."""
