"""The model at work: activations recorded in one pass, and what is measured on them."""
