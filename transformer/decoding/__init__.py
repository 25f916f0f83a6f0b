"""From a source sentence to target ids, cached and unobserved: greedy, sampling, beam search."""
