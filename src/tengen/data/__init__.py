"""Game records: reading them, writing them, and keeping many of them."""
