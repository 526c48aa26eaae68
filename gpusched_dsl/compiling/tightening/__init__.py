"""Passes that make the linear relaxation of a mixed-integer problem stronger, or the problem smaller."""
