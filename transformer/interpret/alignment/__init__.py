"""Which attention head aligns words: gold sets, words from tokens, error rates, and what they are of a checkpoint."""
