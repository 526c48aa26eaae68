"""Recognition of convex functions of several variables in sums of simpler terms."""
