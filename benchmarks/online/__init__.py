"""The overhead of the loop over time beside its plans: `python -m benchmarks online`."""
