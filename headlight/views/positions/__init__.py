"""Positional encoding."""
