"""Word alignment by attention heads: gold sets, words from tokens, and the error rates of a checkpoint."""
