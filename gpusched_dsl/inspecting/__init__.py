"""A cluster without a model: its load, who waits and why, when jobs start, and what would help."""
