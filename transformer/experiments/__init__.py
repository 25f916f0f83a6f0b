"""Small computations that show one idea each, run when a page asks for them."""
