"""The game tree and the algorithms that walk it, one file per algorithm."""
