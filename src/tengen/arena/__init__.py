"""Matches between agents, and what their results mean."""
