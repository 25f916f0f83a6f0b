"""The model at work: activations recorded in one pass, and measures of them."""
