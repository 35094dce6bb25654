"""Neural networks: what they are made of, the file that holds a trained one, and how to run it quickly."""
