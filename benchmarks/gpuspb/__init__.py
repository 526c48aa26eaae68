"""Our heuristics and an independent C++ implementation of them in the same event loop, on the same instances."""
