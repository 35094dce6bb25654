"""What the course builds, as short files to read: each idea of the papers and lectures by itself, slow and obvious."""
