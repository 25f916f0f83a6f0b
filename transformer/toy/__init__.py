"""Small tasks that are learned live: copy, reverse, sort."""
