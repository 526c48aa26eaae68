"""Several solvers at once on one problem."""
