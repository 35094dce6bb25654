"""Learning: from records, by policy gradient, from self-play. Everything a run writes goes to its run directory."""
