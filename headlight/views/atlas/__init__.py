"""What each head does over a whole corpus: a finder of heads, and the chosen one with its examples."""
