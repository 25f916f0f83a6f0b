"""Research: the atlas of all heads, and methods that go beyond the weights."""
