"""The loops that drive a model over time."""
