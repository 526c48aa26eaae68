"""Benchmarks: a small registry of cases and arms, each arm measured in a process of its own. `make bench` runs them."""
