"""Which right-hand sides of `carry` hand a window over correctly."""
