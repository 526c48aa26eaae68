"""Benchmarks: a small registry of cases and arms, each arm measured in a separate process. `make bench` runs them."""
