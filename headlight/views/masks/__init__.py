"""Masks: which query may attend to which key, and what leaks without them."""
