"""Attention: what every head looks at."""
