"""What the loop over time costs beside its plans: `python -m benchmarks online`."""
