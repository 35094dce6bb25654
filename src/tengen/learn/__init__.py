"""Learning: from game records and from self-play. Everything a run writes goes to its run directory."""
