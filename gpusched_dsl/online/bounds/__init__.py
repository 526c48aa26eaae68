"""Lower bounds on the cost of a run."""
