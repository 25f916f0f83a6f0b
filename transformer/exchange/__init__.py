"""Models of other libraries: read into checkpoints, and written from them."""
