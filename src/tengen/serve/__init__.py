"""Ways to reach an agent: the terminal board and the GTP engine."""
