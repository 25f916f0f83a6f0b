"""Inside attention: where each number of an attention block comes from."""
