"""A trace of many jobs through a strict queue: `python -m benchmarks replay`."""
