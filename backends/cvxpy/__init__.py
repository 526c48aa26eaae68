"""CVXPY, for convex problems."""
