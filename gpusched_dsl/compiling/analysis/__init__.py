"""Analyses of expressions and problems: bounds, curvature, granularity."""
