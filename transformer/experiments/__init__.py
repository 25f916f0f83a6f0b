"""What a page tries out on the spot, each a small computation of its own."""
