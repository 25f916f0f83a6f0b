"""Runs of the model with changed attention, heads or inner vectors, and comparisons of runs."""
