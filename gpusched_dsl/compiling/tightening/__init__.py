"""Passes that strengthen the linear relaxation of a mixed-integer problem, or reduce the problem."""
