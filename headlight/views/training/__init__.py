"""Training: how a model comes to attend as it does."""
