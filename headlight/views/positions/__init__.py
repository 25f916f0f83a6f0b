"""Positional encoding: how the model knows the order."""
