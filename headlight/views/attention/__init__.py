"""Attention: the maps of all heads."""
