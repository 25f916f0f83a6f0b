"""Logits: how the decoder's last vector becomes a word."""
