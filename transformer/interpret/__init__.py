"""Looking inside: activations captured by hooks, and what is measured on them."""
