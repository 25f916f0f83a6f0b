"""The live model in one file."""
