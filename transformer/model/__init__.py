"""The Transformer itself, from attention up: parameters and forward passes, nothing observed."""
