"""Anything that chooses a move, and how to load one by name."""
