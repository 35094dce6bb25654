"""Exact solutions of Go on boards up to 5x5: who wins by force, and a proof that can be checked."""
