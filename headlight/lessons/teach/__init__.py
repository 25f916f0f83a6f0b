"""The teacher's screen of a class that predicts together: what she asks, what she sees, and her rights."""
