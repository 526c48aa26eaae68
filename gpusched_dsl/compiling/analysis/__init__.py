"""What can be proved about expressions and problems: bounds, curvature, granularity."""
