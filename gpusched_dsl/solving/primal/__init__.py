"""Our own search for good points: what a solver that lacks an incumbent, or has an earlier plan, can begin from."""
