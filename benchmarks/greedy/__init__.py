"""The greedy pass of capacity planning, compiled and as plain Python: `python -m benchmarks greedy greedy_drawn`."""
