"""From a corpus to batches: tokenizer, pairs, batching, and where corpora come from."""
